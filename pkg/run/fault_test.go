package run

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// breaks is an engine that goes wrong with its nth completion and every later one.
type breaks struct {
	engine http.Handler
	after  int64
	seen   atomic.Int64
	how    http.HandlerFunc
}

func (b *breaks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/completions") && b.seen.Add(1) > b.after {
		b.how(w, r)
		return
	}
	b.engine.ServeHTTP(w, r)
}

func status(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"error":{"message":"`+text+`","code":0}}`)
	}
}

func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func hijack(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}
}

const sseHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// TestEngineFaults breaks the engine in every phase and every way, and looks at
// what is said, how the run ends, and what is on disk.
func TestEngineFaults(t *testing.T) {
	garbage := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "<html>proxy error</html>")
	}
	for _, c := range []struct {
		name  string
		after int64 // good completions before it breaks
		how   http.HandlerFunc
		says  string // in the error of Replay
		class string // of the failed records; empty when none can be
	}{
		{"down from the start", 0, status(503, "loading"), "loading", ""},
		{"wrong key", 0, status(401, "invalid api key"), "invalid api key", ""},
		{"not an engine", 0, status(404, "no such path"), "no such path", ""},
		{"hangs from the start", 0, hang, "timeout", ""},
		{"garbage from the start", 0, garbage, "proxy error", ""},
		{"breaks in warm-up", 7, status(500, "out of memory"), "out of memory", "http_500"},
		{"dies while measuring", 14, status(500, "out of memory"), "requests failed", "http_500"},
		{"hangs while measuring", 14, hang, "requests failed", "timeout"},
		{"closes without an answer", 14, hijack(""), "requests failed", "reset"},
		{"cuts the stream", 14, hijack(sseHead + "20\r\ndata: {\"choices\":[{\"delta\":{}}]}\n\r\n"), "requests failed", ""},
		{"garbage while measuring", 14, garbage, "requests failed", ""},
		{"refuses early", 14, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "too long", 400) }, "requests failed", "http_400"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testFault(t, c.after, c.how, c.says, c.class) })
		})
	}
}

func testFault(t *testing.T, after int64, how http.HandlerFunc, says, class string) {
	engine, err := sim.New(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	network := newPipes()
	server := &http.Server{Handler: &breaks{engine: engine, after: after, how: how}}
	done := make(chan error, 1)
	go func() { done <- server.Serve(network) }()

	dir := filepath.Join(t.TempDir(), "artifacts")
	o := Options{
		Scenario: scenario.InferenceX, UnsafeOverride: true, Source: Source{Sample: true}, Dir: dir,
		Settings: scenario.Settings{
			Concurrency: []int{4}, RandomSeed: p(uint64(42)), TraceIdleGapCapS: p(1.0), BenchmarkDurationS: p(300.0),
			FailedRequestThreshold: p(0.1),
		},
	}
	o.Client.URL, o.Client.Dial, o.Client.Timeout = "http://engine", network.dial, 20*time.Second
	start := time.Now()
	_, err = Replay(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("the error is %v; want it to say %q", err, says)
	}
	t.Log(time.Since(start), err)
	if took := time.Since(start); took > 400*time.Second {
		t.Errorf("it took %v", took)
	}
	_ = server.Close()
	if err := <-done; !errors.Is(err, http.ErrServerClosed) && !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	if class != "" {
		checkOnDisk(t, dir, class)
	}
}

// checkOnDisk wants the records of the failures, and a valid folder.
func checkOnDisk(t *testing.T, dir, class string) {
	found := false
	for _, r := range readLines[record.Record](t, filepath.Join(dir, result.FileRecords)) {
		found = found || r.Seen.Error != nil && r.Seen.Error.Type == class
	}
	if !found {
		t.Errorf("no record of a failure of class %s", class)
	}
	if problems, err := result.Check(dir); err != nil || len(problems) > 0 {
		t.Errorf("what was measured does not validate: %v %v", err, problems)
	}
	if _, err := os.Stat(filepath.Join(dir, result.FileManifest)); err != nil {
		t.Error(err)
	}
}
