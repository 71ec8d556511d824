package scrape

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

func TestMetricsURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://h:8000":              "http://h:8000/metrics",
		"http://h:8000/":             "http://h:8000/metrics",
		"http://h:8000/v1":           "http://h:8000/metrics",
		"http://h:8000/v1/":          "http://h:8000/metrics",
		"https://h/engine/v1":        "https://h/engine/metrics",
		"http://h:8000/metrics":      "http://h:8000/metrics",
		"http://h/metrics/?q=1#here": "http://h/metrics?q=1",
		"http://[::1]:8000":          "http://[::1]:8000/metrics",
	} {
		if got, err := MetricsURL(in); err != nil || got != want {
			t.Errorf("MetricsURL(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "localhost:8000", "h", "ftp://h", "http://", "http://u:secret@h:x y", "://"} {
		got, err := MetricsURL(in)
		if err == nil {
			t.Errorf("MetricsURL(%q) = %q, want an error", in, got)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

func TestFetch(t *testing.T) {
	text := recorded(t, "vllm_dp2.txt")
	var asked *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	clock := record.NewClock()
	source := Source{URL: server.URL + "/v1", APIKey: "k", Clock: clock}
	before := clock.Now()
	p, err := source.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.At < before || p.At > clock.Now() {
		t.Errorf("stamp %d, want one of the fetch", p.At)
	}
	if asked.URL.Path != "/metrics" || asked.Header.Get("Authorization") != "Bearer k" {
		t.Errorf("asked %s with %q", asked.URL, asked.Header.Get("Authorization"))
	}
	if got := Read(p).Counters[GenerationTokens]; got != 61440 {
		t.Errorf("generation tokens %v", got)
	}
	if p, err = (&Source{URL: server.URL}).Fetch(t.Context()); err != nil || p.At.Seen() {
		t.Errorf("without a clock: %v, %v; want a page without stamp", p, err)
	}
	if asked.Header.Get("Authorization") != "" {
		t.Error("without a key there is a header")
	}
}

func TestFetchRefuses(t *testing.T) {
	answer := func(code int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	const plain = "text/plain"
	tests := map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"404":          {answer(404, plain, "no"), "--enable-metrics"},
		"401":          {answer(401, plain, "no"), "API key"},
		"500":          {answer(500, plain, "no"), "HTTP 500; see the engine's log"},
		"HTML":         {answer(200, "text/html", "<html>"), "text/html"},
		"hidden HTML":  {answer(200, plain, "\n <!doctype html>\n"), "HTML or XML"},
		"JSON":         {answer(200, "application/json", "{}"), "application/json"},
		"hidden JSON":  {answer(200, plain, `{"error":"no"}`+"\n"), "not Prometheus text"},
		"empty":        {answer(200, plain, ""), "empty"},
		"binary":       {answer(200, plain, "\xff\xfe\n"), "UTF-8"},
		"prose":        {answer(200, plain, "ok\n"), "line 1"},
		"cut off":      {answer(200, plain, "vllm:prompt_tokens_total 5\nvllm:generation_tok"), "cut off"},
		"no number":    {answer(200, plain, "a 1\nvllm:prompt_tokens_total five\n"), "line 2"},
		"open label":   {answer(200, plain, "vllm:prompt_tokens_total{engine=\"0} 5\n"), "not Prometheus text"},
		"too large":    {answer(200, plain, strings.Repeat("# x\n", maxPage/4+1)), "larger than 16 MiB"},
		"many samples": {answer(200, plain, strings.Repeat("vllm:prompt_tokens 1\n", maxSamples+1)), "more than 50000 samples"},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			line := bytes.Repeat([]byte("vllm:prompt_tokens 1\n"), 1<<10)
			for r.Context().Err() == nil {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}, "larger than"},
		"broken off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("vllm:prompt_tokens_total 5\n"))
		}, "broke off"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://stranger.invalid/metrics?token=secret", http.StatusFound)
		}, "HTTP 302 to http://stranger.invalid/metrics, which is not followed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.handler)
			defer server.Close()
			url := strings.Replace(server.URL, "http://", "http://user:secret@", 1) + "/metrics?token=secret"
			source := Source{URL: url, APIKey: "secret"}
			_, err := source.Fetch(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), server.URL+"/metrics") {
				t.Errorf("%v; want the URL and %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

func TestFetchOfNobody(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := (&Source{URL: server.URL}).Fetch(t.Context())
	if err == nil || !strings.Contains(err.Error(), "is the engine up") || strings.Count(err.Error(), server.URL) != 1 {
		t.Errorf("%v", err)
	}
}

func TestFetchGivesUp(t *testing.T) {
	for name, early := range map[string]bool{"before the answer": false, "within the page": true} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if early {
					_, _ = w.Write([]byte("vllm:prompt_tokens_total 5\n"))
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}))
			defer server.Close()
			source := Source{URL: server.URL, Timeout: 30 * time.Millisecond}
			if _, err := source.Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "no whole page within 30ms") {
				t.Errorf("%v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			source.Timeout = 0
			if _, err := source.Fetch(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
}

func TestTheEnvironmentsProxyIsIgnored(t *testing.T) {
	if own.Transport.(*http.Transport).Proxy != nil {
		t.Error("an engine on a local network is asked through a proxy")
	}
}

func FuzzParse(f *testing.F) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if !file.IsDir() {
			f.Add([]byte(recorded(f, file.Name())))
		}
	}
	f.Add([]byte("{\"vllm:prompt_tokens_total\",engine=\"0\"} 5\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		families, err := Parse(body)
		if err != nil {
			return
		}
		s := Read(&Page{Families: families})
		for n, v := range all(s) {
			if v < 0 || v != v || v > 1e300 {
				t.Errorf("%s is %v", n, v)
			}
			if s.Missing[n] != "" {
				t.Errorf("%s is there and missing", n)
			}
		}
		for n, v := range s.Increase(s).Counters {
			if v != 0 {
				t.Errorf("%s grew by %v from a page to itself", n, v)
			}
		}
	})
}
