package sim

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
)

// models answers /v1/models in vLLM's shape.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID          string `json:"id"`
		Object      string `json:"object"`
		Created     int64  `json:"created"`
		OwnedBy     string `json:"owned_by"`
		Root        string `json:"root"`
		MaxModelLen int    `json:"max_model_len"`
	}
	writeJSON(w, struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", []model{{s.cfg.Model, "model", s.origin.Unix(), "agentx", s.cfg.Model, s.cfg.MaxModelLen}}})
}

// tokenize counts the tokens of a prompt or of messages. vLLM's list of the
// tokens themselves is left out.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	b, err := readBody(http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxBodyMiB)<<20), s.cfg.Cache.BlockSize)
	if err != nil {
		refuseBody(err).write(w)
		return
	}
	if b.prompt == nil {
		badRequest("prompt", "prompt or messages is missing.").write(w)
		return
	}
	writeJSON(w, struct {
		Count       int `json:"count"`
		MaxModelLen int `json:"max_model_len"`
	}{b.prompt.Len(), s.cfg.MaxModelLen})
}

// resetPrefixCache is vLLM's. Like vLLM it says 200 even when requests in
// progress kept it from doing anything, so that counters must prove it; and it
// leaves the lower tiers alone but for ?reset_external=true.
func (s *Server) resetPrefixCache(_ http.ResponseWriter, r *http.Request) {
	lowerTiers, _ := strconv.ParseBool(r.URL.Query().Get("reset_external"))
	s.resetCache(lowerTiers)
}

// flushCache is SGLang's: all tiers, and 400 while requests are in progress.
func (s *Server) flushCache(w http.ResponseWriter, _ *http.Request) {
	if !s.resetCache(true) {
		http.Error(w, "Cache not flushed because there are pending requests.", http.StatusBadRequest)
		return
	}
	_, _ = w.Write([]byte("Cache flushed.\n"))
}

func (s *Server) resetCache(lowerTiers bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model.ResetCache(lowerTiers)
}

func writeJSON(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // plain structs of ours
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}
