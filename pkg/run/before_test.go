package run

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
)

// What is known before the first measured request is what the result says in the
// end, and what is missing comes from the engine.
func TestBefore(t *testing.T) {
	onEngine(t, endless(), nil, func(t *testing.T, o Options) {
		o.Scenario, o.UnsafeOverride, o.Source.Sample = scenario.InferenceX, true, true
		o.Settings = scenario.Settings{Concurrency: []int{2}, RandomSeed: p(uint64(7)), BenchmarkDurationS: p(30.0), TraceIdleGapCapS: p(1.0)}
		o.Client.SMGRoutingKey = true
		var asked []result.Identity
		o.Before = func(known *result.Identity) error { asked = append(asked, *known); return nil }
		report, err := Replay(t.Context(), o)
		if err != nil || len(asked) != 2 {
			t.Fatal(len(asked), err)
		}
		final := &report.Document.Identity
		for i, known := range asked {
			for _, key := range known.Diff(final) {
				if _, said := known.Get(key); said || !result.FromEngine(key) {
					t.Errorf("time %d: %s differs from the result's", i, key)
				}
			}
		}
		if _, known := asked[0].Get("model"); known {
			t.Error("the model was known before the engine was asked")
		}
		for key, i := range map[string]int{"seed": 0, "corpus": 0, "scenario": 0, "history": 0, "concurrency": 0, "session_routing": 0, "model": 1, "engine": 1} {
			if _, known := asked[i].Get(key); !known {
				t.Errorf("%s was not known", key)
			}
		}
	})
}

// An error ends the run before anything is sent or written.
func TestBeforeEndsTheRun(t *testing.T) {
	for _, at := range []int{1, 2} {
		sent, no := 0, errors.New("no")
		count := func(engine http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/completions") {
					sent++
				}
				engine.ServeHTTP(w, r)
			})
		}
		onEngine(t, endless(), count, func(t *testing.T, o Options) {
			o.Source.Sample = true
			o.Settings.RandomSeed = p(uint64(7))
			calls := 0
			o.Before = func(*result.Identity) error {
				if calls++; calls == at {
					return no
				}
				return nil
			}
			if _, err := Replay(t.Context(), o); !errors.Is(err, no) || sent > 0 {
				t.Errorf("%v, %d requests", err, sent)
			}
			if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("something was written: %v", err)
			}
		})
	}
}

func TestProbe(t *testing.T) {
	noList := func(engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/models") {
				http.NotFound(w, r)
				return
			}
			engine.ServeHTTP(w, r)
		})
	}
	down := func(http.Handler) http.Handler { return status(503, "loading") }
	for name, c := range map[string]struct {
		wrap  func(http.Handler) http.Handler
		asked []string
		model string
		says  string
	}{
		"the only model":   {nil, nil, "sim", ""},
		"named":            {nil, []string{"sim"}, "sim", ""},
		"not served":       {nil, []string{"other"}, "other", "does not serve the model"},
		"no list":          {noList, []string{"sim"}, "sim", ""},
		"no list, no name": {noList, nil, "", "HTTP 404"},
		"down":             {down, nil, "", "HTTP 503: loading"},
		"down, named":      {down, []string{"sim"}, "sim", "loading"},
	} {
		t.Run(name, func(t *testing.T) {
			onEngine(t, endless(), c.wrap, func(t *testing.T, o Options) {
				o.Models = c.asked
				model, err := Probe(t.Context(), o)
				if model != c.model || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%q, %v; want %q, %q", model, err, c.model, c.says)
				}
			})
		})
	}
}
