package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// exchange is one completion request from its arrival to the end of its answer.
type exchange struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	chat   bool
	lot    lot

	body         *body
	promptTokens int
	tokens       int    // that will be generated
	answer       uint64 // decides the words
	stream       *stream
	phase        time.Duration // how long after a step's end this stream is written
	timer        *time.Timer   // of pause

	served Served
	told   bool // OnServed has been called
}

// complete answers /v1/chat/completions and /v1/completions.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	num := s.count.Add(1) - 1
	e := &exchange{
		server: s, w: w, r: r,
		chat: strings.HasSuffix(r.URL.Path, "/chat/completions"),
		lot:  lot{seed: s.cfg.Seed, num: num},
		served: Served{
			Num: num, Path: r.URL.Path, Origin: s.origin,
			RequestID:     r.Header.Get("X-Request-ID"),
			CorrelationID: r.Header.Get("X-Correlation-ID"),
		},
	}
	defer e.end()
	if refused := e.run(); refused != nil {
		e.served.Status = refused.status
		e.tell()
		refused.write(w)
	}
}

// run returns a refusal when nothing has been written yet.
func (e *exchange) run() *refusal {
	f := &e.server.cfg.Faults
	if e.struck("reject_rate", f.RejectRate) {
		return badRequest("", "Rejected before the body was read (dialled fault).")
	}
	limit := int64(e.server.cfg.MaxBodyMiB) << 20
	b, err := readBody(http.MaxBytesReader(e.w, e.r.Body, limit), e.server.cfg.Cache.BlockSize)
	if err != nil {
		return refuseBody(err)
	}
	if refused := e.accept(b); refused != nil {
		return refused
	}
	switch {
	case e.struck("error_rate", f.ErrorRate):
		return &refusal{http.StatusInternalServerError, "InternalServerError", "Internal server error (dialled fault).", ""}
	case e.struck("hang_headers_rate", f.HangHeadersRate):
		e.hang()
	case e.struck("garbage_rate", f.GarbageRate):
		e.writeGarbage()
		return nil
	}
	e.phase = time.Duration(e.lot.uniform("phase") * float64(milliseconds(e.server.cfg.SpreadWritesMs)))
	if e.stream, err = e.server.submit(e.request()); err != nil {
		return badRequest("", "%v", err)
	}
	if b.stream {
		e.streamAnswer()
		return nil
	}
	return e.wholeAnswer()
}

// accept checks what a body asks for, in vLLM's words.
func (e *exchange) accept(b *body) *refusal {
	cfg := &e.server.cfg
	e.body = b
	e.served.Stream, e.served.MaxTokens, e.served.Messages = b.stream, b.maxTokens, b.messages
	if b.model != "" && b.model != cfg.Model {
		return &refusal{http.StatusNotFound, "NotFoundError", "The model `" + b.model + "` does not exist.", "model"}
	}
	what := "prompt"
	if e.chat {
		what = "messages"
	}
	if b.prompt == nil || b.prompt.Len() == 0 || e.chat != (b.messages > 0) {
		return badRequest(what, "%s is missing or empty.", what)
	}
	length := b.prompt.Len()
	if b.maxTokens == 0 {
		b.maxTokens = max(1, min(16, cfg.MaxModelLen-length))
	}
	if left := cfg.MaxModelLen - length; cfg.ContextOverflow == Cut && left > 0 {
		b.maxTokens = min(b.maxTokens, left)
	}
	if length+b.maxTokens > cfg.MaxModelLen {
		return badRequest(what, "This model's maximum context length is %d tokens. However, you requested %d tokens "+
			"(%d in the %s, %d in the completion). Please reduce the length of the %s or completion.",
			cfg.MaxModelLen, length+b.maxTokens, length, what, b.maxTokens, what)
	}
	return nil
}

// request decides how much is generated.
func (e *exchange) request() Request {
	f := &e.server.cfg.Faults
	r := Request{ID: e.served.Num, Prompt: e.body.prompt, MaxTokens: e.body.maxTokens}
	endsEarly := !e.body.ignoreEOS && e.struck("eos_rate", f.EOSRate)
	if e.struck("early_stop_rate", f.EarlyStopRate) || endsEarly {
		r.StopAfter = 1 + int(e.lot.uniform("stop_after")*float64(r.MaxTokens-1))
	}
	e.tokens = r.MaxTokens
	if r.StopAfter > 0 {
		e.tokens = r.StopAfter
	}
	e.promptTokens = e.body.prompt.Len()
	e.answer = e.body.prompt.chain
	e.body.prompt = nil // the model keeps what it needs
	return r
}

// struck draws a fault and notes it.
func (e *exchange) struck(name string, rate float64) bool {
	if !e.lot.strikes(name, rate) {
		return false
	}
	e.served.Faults = append(e.served.Faults, name)
	return true
}

// next waits for tokens. ok is false when the client has left.
func (e *exchange) next(into []Event) (events []Event, ok bool) {
	select {
	case <-e.stream.ready:
	case <-e.r.Context().Done():
		return nil, false
	case <-e.server.closing:
		panic(http.ErrAbortHandler)
	}
	events, at := e.stream.drain(into)
	if wait := at + e.phase - e.server.now(); e.phase > 0 && wait > 0 {
		return events, e.pause(wait)
	}
	return events, true
}

// pause sleeps; it reports whether the client is still there.
func (e *exchange) pause(d time.Duration) bool {
	if e.timer == nil {
		e.timer = time.NewTimer(d)
	} else {
		e.timer.Reset(d)
	}
	select {
	case <-e.timer.C:
		return true
	case <-e.r.Context().Done():
		return false
	case <-e.server.closing:
		panic(http.ErrAbortHandler)
	}
}

// hang does nothing until the client leaves, then cuts the connection.
func (e *exchange) hang() {
	select {
	case <-e.r.Context().Done():
	case <-e.server.closing:
	}
	panic(http.ErrAbortHandler)
}

// end runs on every way out: what is still in the engine is cancelled.
func (e *exchange) end() {
	if e.stream != nil && e.served.Done == nil {
		e.served.Done = e.server.cancel(e.served.Num, e.stream)
	}
	e.tell()
}

// tell calls OnServed once.
func (e *exchange) tell() {
	if e.told {
		return
	}
	e.told = true
	if e.server.OnServed != nil {
		e.server.OnServed(e.served)
	}
}

// publicID is the id in the answer: the client's request id, as in vLLM, or a
// number.
func (e *exchange) publicID() string {
	prefix := "cmpl-"
	if e.chat {
		prefix = "chatcmpl-"
	}
	const longest = 128
	if id := e.served.RequestID; id != "" && len(id) <= longest {
		return prefix + id
	}
	return prefix + strconv.FormatUint(e.served.Num, 10)
}
