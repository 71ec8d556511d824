package sim

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server is the engine over HTTP. It starts with New and ends with Close. It
// works in real time, and in the virtual time of a testing/synctest bubble.
type Server struct {
	// OnServed, when set before the first request, is told the truth about every
	// completion request, once: before the last token is written, or, of a request
	// that does not get so far, after it was cut off. Calls may be concurrent.
	OnServed func(Served)

	cfg    Config
	routes *http.ServeMux
	origin time.Time // of the model's time
	count  atomic.Uint64

	mu      sync.Mutex // guards what follows
	model   *Model
	streams map[uint64]*stream
	late    time.Duration

	kick    chan struct{} // holds one: something changed for an idle engine
	closing chan struct{}
	closed  sync.Once
	stopped chan struct{} // the engine's loop has ended
}

// New starts an engine; Close ends it.
func New(cfg Config) (*Server, error) {
	model, err := NewModel(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg:     cfg.withDefaults(),
		routes:  http.NewServeMux(),
		origin:  time.Now(),
		model:   model,
		streams: map[uint64]*stream{},
		kick:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
	}
	s.routes.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	s.routes.HandleFunc("GET /metrics", s.metrics)
	s.routes.HandleFunc("GET /v1/models", s.models)
	s.routes.HandleFunc("POST /v1/chat/completions", s.complete)
	s.routes.HandleFunc("POST /v1/completions", s.complete)
	s.routes.HandleFunc("POST /tokenize", s.tokenize)
	s.routes.HandleFunc("GET /version", s.version)
	for _, older := range []string{"", "get_"} {
		s.routes.HandleFunc("GET /"+older+"server_info", s.serverInfo)
		s.routes.HandleFunc("GET /"+older+"model_info", s.modelInfo)
	}
	s.routes.HandleFunc("POST /reset_prefix_cache", s.resetPrefixCache)
	s.routes.HandleFunc("POST /flush_cache", s.flushCache)
	s.routes.HandleFunc("GET /flush_cache", s.flushCache) // older SGLang
	go s.run()
	return s, nil
}

// Close stops the engine. Requests that are still running end as aborted, with
// their connections cut.
func (s *Server) Close() error {
	s.closed.Do(func() { close(s.closing) })
	<-s.stopped
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.cfg.APIKey != "" && strings.HasPrefix(r.URL.Path, "/v1/") {
		want := "Bearer " + s.cfg.APIKey
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) != 1 {
			(&refusal{http.StatusUnauthorized, "AuthenticationError", "Incorrect API key provided.", ""}).write(w)
			return
		}
	}
	s.routes.ServeHTTP(w, r)
}

// shutdownGrace is how long Serve lets answers finish after its context ended.
const shutdownGrace = 2 * time.Second

// Serve answers on a listener until the context ends or Close is called, and
// closes the listener. Answers in progress get two seconds to finish. It returns
// nil when it was asked to end. The engine itself goes on until Close.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: time.Minute,
		IdleTimeout:       time.Duration(s.cfg.KeepAliveS * float64(time.Second)),
	}
	if server.IdleTimeout == 0 {
		server.IdleTimeout = -1 // never, rather than ReadHeaderTimeout
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	case <-s.closing:
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close() // cuts what is left; its error would say no more than that
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Counters takes a snapshot of the engine.
func (s *Server) Counters() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.model.Counters()
	c.LateMaxMs = s.late.Seconds() * 1e3
	return c
}

// now is the model's time.
func (s *Server) now() time.Duration { return time.Since(s.origin) }
