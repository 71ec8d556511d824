package sim

import "net/http"

// version answers vLLM's /version.
func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, struct {
		Version string `json:"version"`
	}{s.cfg.Version})
}

// serverInfo answers SGLang's /server_info, by its older name /get_server_info:
// the launch arguments, what the scheduler tells, and the version, in one object.
// It is where SGLang's router learns the name of the model.
func (s *Server) serverInfo(w http.ResponseWriter, _ *http.Request) {
	c := &s.cfg
	type internal struct {
		MaxRunning int `json:"effective_max_running_requests_per_dp"`
	}
	writeJSON(w, struct {
		ModelPath       string     `json:"model_path"`
		TokenizerPath   string     `json:"tokenizer_path"`
		ServedModelName string     `json:"served_model_name"`
		ContextLength   int        `json:"context_length"`
		TPSize          int        `json:"tp_size"`
		DPSize          int        `json:"dp_size"`
		PageSize        int        `json:"page_size"`
		ChunkedPrefill  int        `json:"chunked_prefill_size"`
		MaxRunning      int        `json:"max_running_requests"`
		NoRadixCache    bool       `json:"disable_radix_cache"`
		Disaggregation  string     `json:"disaggregation_mode"`
		MaxTotalTokens  *int       `json:"max_total_num_tokens"` // null: unlimited
		States          []internal `json:"internal_states"`
		Version         string     `json:"version"`
	}{
		c.Model, c.Model, c.Model, c.MaxModelLen, 1, 1, c.Cache.BlockSize, c.MaxNumBatchedTokens, c.MaxNumSeqs,
		c.Cache.NoPrefixCaching, "null", c.poolTokens(), []internal{{c.MaxNumSeqs}}, c.Version,
	})
}

// modelInfo answers SGLang's /model_info, by its older name /get_model_info.
func (s *Server) modelInfo(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, struct {
		ModelPath     string  `json:"model_path"`
		TokenizerPath string  `json:"tokenizer_path"`
		IsGeneration  bool    `json:"is_generation"`
		Preferred     *string `json:"preferred_sampling_params"`
		WeightVersion string  `json:"weight_version"`
	}{s.cfg.Model, s.cfg.Model, true, nil, "default"})
}

// poolTokens is the size of the GPU's pool; nil when it is unlimited.
func (c *Config) poolTokens() *int {
	if c.Cache.GPUBlocks == 0 {
		return nil
	}
	n := c.Cache.GPUBlocks * c.Cache.BlockSize
	return &n
}
