package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answers serves pages by "METHOD /path"; what isn't there is 404.
type answers map[string]http.HandlerFunc

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// well is an engine that has nothing to be ashamed of.
func well() answers {
	return answers{
		"GET /health":               text(200, ""),
		"GET /v1/models":            text(200, `{"data":[{"id":"m"},{"id":"lora"}]}`),
		"POST /v1/chat/completions": text(200, `{"choices":[{"message":{"content":null}}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`),
		"GET /metrics":              text(200, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 0\n"),
	}
}

func (a answers) with(key string, h http.HandlerFunc) answers {
	a[key] = h
	return a
}

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := a[r.Method+" "+r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	http.NotFound(w, r)
}

// driver serves them in this process.
func (a answers) driver() Driver {
	return Serve(func(ctx context.Context, l net.Listener) error {
		s := &http.Server{Handler: a}
		context.AfterFunc(ctx, func() { _ = s.Close() })
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

func quick() Plan {
	return Plan{Load: time.Minute, Answer: time.Minute, Metrics: time.Minute, Grace: 10 * time.Second, Down: 10 * time.Second}
}

// after answers so often with the first, then with the second.
func after(n int32, first, then http.HandlerFunc) http.HandlerFunc {
	var count atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1) <= n {
			first(w, r)
		} else {
			then(w, r)
		}
	}
}

func TestBringWaitsForWhatComes(t *testing.T) {
	chat, metrics := well()["POST /v1/chat/completions"], well()["GET /metrics"]
	for name, c := range map[string]struct {
		answers answers
		plan    func(*Plan)
	}{
		"all well":                    {answers: well()},
		"no health page":              {answers: well().with("GET /health", nil)},
		"no health page, no models":   {answers: well().with("GET /health", nil).with("GET /v1/models", after(3, http.NotFound, text(200, `{"data":[{"id":"m"}]}`)))},
		"health after a while":        {answers: well().with("GET /health", after(3, text(503, ""), text(200, "")))},
		"a router without workers":    {answers: well().with("POST /v1/chat/completions", after(3, text(503, "no worker"), chat))},
		"metrics after a while":       {answers: well().with("GET /metrics", after(2, http.NotFound, metrics))},
		"no metrics wanted":           {answers: well().with("GET /metrics", nil), plan: func(p *Plan) { p.NoMetrics = true }},
		"no usage, but text":          {answers: well().with("POST /v1/chat/completions", text(200, `{"choices":[{"message":{"content":"red"}}]}`))},
		"only thoughts, and no usage": {answers: well().with("POST /v1/chat/completions", text(200, `{"choices":[{"message":{"content":null,"reasoning_content":"hm"}}]}`))},
		"another endpoint": {
			answers: well().with("POST /v1/completions", text(200, `{"choices":[{"text":"red"}]}`)).with("POST /v1/chat/completions", nil),
			plan:    func(p *Plan) { p.Endpoint = "/v1/completions" },
		},
		"a health page of its own": {
			answers: well().with("GET /ping", text(204, "")).with("GET /health", text(500, "")),
			plan:    func(p *Plan) { p.HealthPath = "ping" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := quick()
			if c.plan != nil {
				c.plan(&p)
			}
			d, err := Bring(t.Context(), c.answers.driver(), p)
			if err != nil {
				t.Fatal(err)
			}
			if d.Model != "m" || d.MetricsURLs[0] != d.URL+"/metrics" || d.Facts.Driver != "sim" {
				t.Errorf("%+v", d)
			}
			if err := d.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://")); err == nil {
				t.Error("the port is open")
			}
		})
	}
}

func TestBringGivesUp(t *testing.T) {
	short := 300 * time.Millisecond
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	for name, c := range map[string]struct {
		answers answers
		step    string
		want    string
	}{
		"never healthy":      {well().with("GET /health", text(503, "")), StepHealth, "HTTP 503"},
		"health hangs":       {well().with("GET /health", hang), StepHealth, "nothing within 300ms"},
		"a redirect":         {well().with("GET /health", http.RedirectHandler("http://elsewhere/", http.StatusFound).ServeHTTP), StepHealth, "redirect"},
		"no models":          {well().with("GET /health", nil).with("GET /v1/models", text(200, `{"data":[]}`)), StepHealth, "lists no model"},
		"completions fail":   {well().with("POST /v1/chat/completions", text(500, "boom\n\x1b[2J")), StepCompletion, "HTTP 500: boom"},
		"completions hang":   {well().with("POST /v1/chat/completions", hang), StepCompletion, "nothing within 300ms"},
		"another model":      {well().with("POST /v1/chat/completions", text(404, "no such model")), StepCompletion, "no such model"},
		"wrong key":          {well().with("POST /v1/chat/completions", text(401, "")), StepCompletion, "API key"},
		"a bad request":      {well().with("POST /v1/chat/completions", text(400, "no template")), StepCompletion, "no template"},
		"not a token":        {well().with("POST /v1/chat/completions", text(200, `{"choices":[{"message":{"content":""}}],"usage":{"completion_tokens":0}}`)), StepCompletion, "without a token"},
		"no JSON":            {well().with("POST /v1/chat/completions", text(200, "<html>")), StepCompletion, "no completion"},
		"metrics missing":    {well().with("GET /metrics", nil), StepMetrics, "--enable-metrics"},
		"metrics of a proxy": {well().with("GET /metrics", text(200, "<html>")), StepMetrics, "text/html"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := quick()
			p.Load, p.Answer, p.Metrics = short, short, short
			if c.step != StepHealth {
				p.Load = time.Minute
			}
			if c.step == StepMetrics {
				p.Answer = time.Minute
			}
			_, err := Bring(t.Context(), c.answers.driver(), p)
			var failed *StartError
			if !errors.As(err, &failed) {
				t.Fatalf("got %v", err)
			}
			if failed.Step != c.step || failed.Teardown != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("failed at %s, want %s with %q:\n%v", failed.Step, c.step, c.want, err)
			}
		})
	}
}

func TestBringSendsTheKeyAndNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	var keys atomic.Int32
	locked := well()
	for page, h := range locked {
		locked[page] = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer sk-1" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			keys.Add(1)
			h(w, r)
		}
	}
	p := quick()
	p.APIKey = "sk-1"
	d, err := Bring(t.Context(), locked.driver(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(t.Context()); err != nil || keys.Load() != 4 {
		t.Errorf("%d pages with the key, want 4: %v", keys.Load(), err)
	}
}

func TestServedEngineDies(t *testing.T) {
	dying := make(chan struct{})
	d, err := Bring(t.Context(), Serve(func(ctx context.Context, l net.Listener) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s := &http.Server{Handler: well()}
		go func() { _ = s.Serve(l) }()
		select {
		case <-ctx.Done():
			return s.Close()
		case <-dying:
			_ = s.Close()
			return errors.New("out of luck")
		}
	}), quick())
	if err != nil {
		t.Fatal(err)
	}
	close(dying)
	<-d.Died()
	var died *DiedError
	if !errors.As(d.Cause(), &died) || !strings.Contains(died.Error(), "out of luck") {
		t.Errorf("cause is %v", d.Cause())
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestServedEngineThatDoesNotEnd(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	p := quick()
	p.Grace, p.Down = 10*time.Millisecond, 50*time.Millisecond
	d, err := Bring(t.Context(), Serve(func(_ context.Context, l net.Listener) error {
		go func() { _ = http.Serve(l, well()) }()
		<-release
		return nil
	}), p)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // what failed is tried again
		if err := d.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "does not end") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAtIsLeftAlone(t *testing.T) {
	server := httptest.NewServer(well().with("GET /other/metrics", well()["GET /metrics"]).with("GET /metrics", nil))
	defer server.Close()
	for _, url := range []string{server.URL, server.URL + "/v1/", server.URL + "/v1/chat/completions", strings.TrimPrefix(server.URL, "http://")} {
		d, err := Bring(t.Context(), At(url, server.URL+"/other/metrics"), quick())
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(t.Context()); err != nil || d.Facts.Driver != "url" {
			t.Errorf("%+v, %v", d.Facts, err)
		}
	}
	if resp, err := http.Get(server.URL + "/health"); err != nil || resp.StatusCode != 200 {
		t.Errorf("it was not left as it is: %v", err)
	}
	for _, url := range []string{"", "ftp://h", "http://", "http://u:secret@h", "http://h:x"} {
		_, err := Bring(t.Context(), At(url), quick())
		var failed *StartError
		if !errors.As(err, &failed) || failed.Step != StepStart || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestAddress(t *testing.T) {
	for _, c := range []struct{ url, endpoint, health, wantHealth, wantModels, wantCompletion string }{
		{"http://h:8000", "", "", "http://h:8000/health", "http://h:8000/v1/models", "http://h:8000/v1/chat/completions"},
		{"h:8000/v1/", "", "", "http://h:8000/health", "http://h:8000/v1/models", "http://h:8000/v1/chat/completions"},
		{"https://h/v1/completions", "", "/up", "https://h/up", "https://h/v1/models", "https://h/v1/completions"},
		{"https://h/openai/x/chat/completions?v=1", "", "", "https://h/openai/x/health", "https://h/openai/x/v1/models", "https://h/openai/x/chat/completions?v=1"},
		{"http://h/v1", "/v1/completions", "", "http://h/health", "http://h/v1/models", "http://h/v1/completions"},
	} {
		a, err := newAddress(c.url, c.endpoint, c.health)
		got := []string{a.health, a.models, a.completion}
		if diff := cmp.Diff([]string{c.wantHealth, c.wantModels, c.wantCompletion}, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.url, err, diff)
		}
	}
}

func TestWaiterIsPatientAndTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		log := newCapture("", 0, nil)
		fmt.Fprintln(log, "INFO 05-07 02:14:18 [loader.py:1] Loading weights: 30 %")
		w := &waiter{say: &progress{w: &said, name: "e"}, log: log}
		began, attempts := time.Now(), 0
		err := w.until(t.Context(), "health", time.Hour, func(context.Context) error {
			attempts++
			return errors.New("connection refused")
		})
		if took := time.Since(began); took != time.Hour {
			t.Errorf("gave up after %v", took)
		}
		if attempts < 3600 || attempts > 3700 {
			t.Errorf("%d attempts in an hour", attempts)
		}
		if want := "waiting for health: nothing within 1h0m0s (last attempt: connection refused)"; err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		if want := "engine e: 10s and still waiting for health (connection refused); its log: Loading weights: 30 %"; len(lines) < 2 || lines[1] != want {
			t.Errorf("said\n%s", said.String())
		}
		if len(lines) < 55 || len(lines) > 65 {
			t.Errorf("%d lines in an hour", len(lines))
		}
	})
}

func TestWaiterGivesUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiter{say: &progress{}, log: newCapture("", 0, nil)}
		began := time.Now()
		if err := w.until(t.Context(), "x", time.Hour, func(context.Context) error {
			return hopeless{errors.New("wrong key")}
		}); err == nil || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		e, how := &served{End: NewEnd()}, errors.New("exit status 1")
		ctx, stop := withEngine(t.Context(), e)
		defer stop()
		time.AfterFunc(3*time.Second, func() { e.With(how); e.With(errors.New("again")) })
		err := w.until(ctx, "x", time.Hour, func(ctx context.Context) error {
			<-ctx.Done() // a question that hangs
			return ctx.Err()
		})
		if !errors.Is(err, how) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// Of a start that the user cancelled no line of the log is to blame.
func TestCancelledStartBlamesNoLine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	loading := well().with("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	_, err := Bring(ctx, complaining{loading.driver()}, quick())
	var failed *StartError
	if !errors.As(err, &failed) || !errors.Is(err, context.Canceled) || failed.Fatal != "" || failed.Advice != "" || len(failed.Tail) == 0 {
		t.Errorf("got %+v", err)
	}
}

// complaining is a driver whose engine writes an error.
type complaining struct{ Driver }

func (c complaining) Start(ctx context.Context, name string, logs io.Writer) (Engine, error) {
	_, _ = io.WriteString(logs, "KeyboardInterrupt: terminated\nValueError: CUDA out of memory\n")
	return c.Driver.Start(ctx, name, logs)
}
