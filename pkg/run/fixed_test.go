package run

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/fixed"
	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/validity"
)

// onEngine runs in virtual time against an engine, behind whatever wrap puts
// before it.
func onEngine(t *testing.T, cfg sim.Config, wrap func(http.Handler) http.Handler, do func(t *testing.T, o Options)) {
	synctest.Test(t, func(t *testing.T) {
		engine, err := sim.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var handler http.Handler = engine
		if wrap != nil {
			handler = wrap(engine)
		}
		network := newPipes()
		server := &http.Server{Handler: handler}
		done := make(chan error, 1)
		go func() { done <- server.Serve(network) }()
		o := Options{Dir: filepath.Join(t.TempDir(), "artifacts"), Counting: record.CountServer}
		o.Client.URL, o.Client.Dial = "http://engine", network.dial
		do(t, o)
		_ = server.Close()
		<-done
		_ = engine.Close()
	})
}

func small(endpoint fixed.Endpoint, loads ...int) FixedOptions {
	return FixedOptions{Shapes: []fixed.Shape{{ISL: 300, OSL: 12}}, Concurrency: loads, Endpoint: endpoint}
}

func wholeFolder(t *testing.T, dir string) {
	t.Helper()
	if problems, err := result.Check(dir); err != nil || len(problems) > 0 {
		t.Errorf("%s does not validate: %v %v", dir, err, problems)
	}
}

// TestFixed: a point is a result like any other, of mode fixed, and the engine
// counts every prompt as drawn.
func TestFixed(t *testing.T) {
	for _, endpoint := range []fixed.Endpoint{fixed.Completions, fixed.Chat} {
		t.Run(string(endpoint), func(t *testing.T) {
			onEngine(t, endless(), nil, func(t *testing.T, o Options) {
				o.Fixed = small(endpoint, 3)
				reports, err := Fixed(t.Context(), o)
				if err != nil || len(reports) != 1 || reports[0].Dir != o.Dir {
					t.Fatal(reports, err)
				}
				wholeFolder(t, o.Dir)
				d := reports[0].Document
				if d.Mode != result.ModeFixed || d.Fixed == nil || d.Fixed.Raw["completed"] != 30 || d.Fixed.Steady == nil || len(d.Fixed.InputLens) != 30 {
					t.Fatalf("%+v", d.Fixed)
				}
				for i, r := range readLines[record.Record](t, filepath.Join(o.Dir, result.FileRecords)) {
					if n, ok := r.InputTokens(record.CountServer); !ok || n != int64(r.Asked.RecordedIn) || n < 240 || n > 300 {
						t.Errorf("record %d: %d tokens counted, %d drawn", i, n, r.Asked.RecordedIn)
					}
				}
				if f := d.Validity.Findings; !d.Validity.Trusted || len(f) > 0 {
					t.Errorf("findings %+v", f)
				}
				if c := d.Engine.Profiling; c == nil || *c.PrefixCacheHits != 0 {
					t.Errorf("the engine's counters: %+v", c)
				}
				if s := d.Engine.ColdStart; !s.Reset || !*d.Engine.PrefixCaching {
					t.Errorf("cold start %+v", s)
				}
				for key, want := range map[string]string{"mode": "fixed", "concurrency": "3", "fixed_isl": "300", "fixed_prompts": "30", "fixed_endpoint": string(endpoint), "prefix_caching": "true", "extra_inputs.temperature": "0"} {
					if got, _ := d.Identity.Get(key); got != want {
						t.Errorf("identity %s: %q, want %q", key, got, want)
					}
				}
				start, end := d.Fixed.Raw["benchmark_start_time_unix"], d.Fixed.Raw["benchmark_end_time_unix"]
				if start < float64(d.StartedAt.Unix()) || end-start < d.Fixed.Raw["duration"]-1e-5 {
					t.Errorf("from %f to %f, started %v, took %f", start, end, d.StartedAt, d.Fixed.Raw["duration"])
				}
			})
		})
	}
}

// TestCacheReset: proven when the prompt is gone, or caching is off; otherwise it is said.
func TestCacheReset(t *testing.T) {
	reset := func(answer http.HandlerFunc) func(http.Handler) http.Handler {
		return func(engine http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "cache") {
					answer(w, r)
					return
				}
				engine.ServeHTTP(w, r)
			})
		}
	}
	onlyFlush := func(engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/reset_prefix_cache" {
				http.NotFound(w, r)
				return
			}
			engine.ServeHTTP(w, r)
		})
	}
	off, silent, sglang, tiers := sim.Default(), sim.Default(), sim.Default(), sim.Default()
	off.Cache.NoPrefixCaching = true
	silent.Faults.MissingUsageRate = 1
	sglang.Metrics, sglang.Faults.MissingUsageRate = sim.SGLang, 1
	tiers.Cache.HostGB = 100
	for _, c := range []struct {
		name    string
		cfg     sim.Config
		wrap    func(http.Handler) http.Handler
		noPage  bool
		proven  bool
		caching *bool
		says    string
	}{
		{"vLLM", sim.Default(), nil, false, true, p(true), "none after it"},
		{"without metrics", sim.Default(), nil, true, true, p(true), "none after it"},
		{"by counters alone", silent, nil, false, true, p(true), "none after it"},
		{"SGLang", sglang, onlyFlush, false, true, p(true), "none after it"},
		{"lower tiers", tiers, nil, false, true, p(true), "none after it"},
		{"caching off", off, nil, false, true, p(false), "prefix caching is off"},
		{"says yes and does nothing", sim.Default(), reset(func(http.ResponseWriter, *http.Request) {}), false, false, p(true), "still found"},
		{"has no reset", sim.Default(), reset(http.NotFound), false, false, nil, "resets no cache"},
		{"shows nothing", silent, nil, true, false, nil, "shows no hits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEngine(t, c.cfg, c.wrap, func(t *testing.T, o Options) {
				o.Fixed, o.NoMetrics = small("", 1, 2), c.noPage
				reports, err := Fixed(t.Context(), o)
				if err != nil || len(reports) != 2 {
					t.Fatal(reports, err)
				}
				d := reports[1].Document // the engine has processed prompts before
				e := d.Engine
				if e.ColdStart.Reset != c.proven || !strings.Contains(d.Settings.Other["cache_reset"], c.says) {
					t.Errorf("reset %v: %s", e.ColdStart.Reset, d.Settings.Other["cache_reset"])
				}
				if (e.PrefixCaching == nil) != (c.caching == nil) || c.caching != nil && *e.PrefixCaching != *c.caching {
					t.Errorf("caching %v", e.PrefixCaching)
				}
				said := slices.ContainsFunc(d.Validity.Findings, func(f validity.Finding) bool {
					return f.Code == validity.CacheNotCold || f.Code == validity.CacheStartUnknown
				})
				if said == c.proven {
					t.Errorf("findings %+v", d.Validity.Findings)
				}
			})
		})
	}
}

// TestBaselineAfterReplay lies below the replay's folder, at the lanes asked and
// around the load that was reached, and the manifest of the whole holds.
func TestBaselineAfterReplay(t *testing.T) {
	onEngine(t, endless(), nil, func(t *testing.T, o Options) {
		o.Scenario, o.UnsafeOverride, o.Source = scenario.InferenceX, true, Source{Sample: true}
		o.Settings = scenario.Settings{Concurrency: []int{4}, RandomSeed: p(uint64(42)), TraceIdleGapCapS: p(1.0), BenchmarkDurationS: p(60.0)}
		o.Fixed = small("")
		o.Fixed.Concurrency, o.Fixed.Matched = []int{4}, true
		for range 2 { // the second finds the first one's files
			report, err := Replay(t.Context(), o)
			if err != nil || len(report.Fixed) < 2 {
				t.Fatal(report.Fixed, err)
			}
			mean := report.Document.Load.RequestsInFlight.Avg
			var loads []int
			for _, f := range report.Fixed {
				wholeFolder(t, f.Dir)
				loads = append(loads, f.Document.Settings.Concurrency)
				if s := f.Document.Engine.ColdStart; !s.Reset || *s.PromptTokensBefore == 0 {
					t.Errorf("cold start %+v", s)
				}
				if f.Document.Engine.Profiling == nil || *f.Document.Engine.Profiling.PrefixCacheHits != 0 {
					t.Error("the baseline found something in the cache")
				}
			}
			if !slices.Contains(loads, 4) || !slices.Contains(loads, max(1, int(mean))) || !slices.Contains(loads, max(1, int(mean))+1) {
				t.Errorf("loads %v for a mean of %g in flight", loads, mean)
			}
			wholeFolder(t, o.Dir)
		}
		o.Fixed = FixedOptions{}
		if _, err := Replay(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(o.Dir, "fixed-*")); len(left) > 0 {
			t.Errorf("an earlier run's baselines are left: %v", left)
		}
		wholeFolder(t, o.Dir)
	})
}

// TestFixedEndsBadly: whatever happens, what was measured is a whole folder.
func TestFixedEndsBadly(t *testing.T) {
	flaky := func(engine http.Handler) http.Handler {
		return &breaks{engine: engine, after: 30, how: status(500, "out of memory")} // two probes, 8 warm-ups
	}
	t.Run("failures", func(t *testing.T) {
		onEngine(t, sim.Default(), flaky, func(t *testing.T, o Options) {
			o.Fixed = small("", 4)
			o.Fixed.KeepCache = true
			reports, err := Fixed(t.Context(), o)
			var failed *fixed.FailedError
			if !errors.As(err, &failed) || len(reports) != 1 || reports[0].Document.Requests.Profiling.Errors != 20 {
				t.Fatal(reports, err)
			}
			wholeFolder(t, o.Dir)
		})
	})
	t.Run("cancelled", func(t *testing.T) {
		slow := sim.Default()
		slow.Cost.StepBaseMs = 1000
		onEngine(t, slow, nil, func(t *testing.T, o Options) {
			o.Fixed = small("", 4, 5)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(60*time.Second, cancel)
			reports, err := Fixed(ctx, o)
			if !errors.Is(err, ErrCancelled) || len(reports) != 1 || !reports[0].Document.Outcome.Cancelled || reports[0].Document.Requests.Profiling.Censored != 4 {
				t.Fatalf("%+v %v", reports, err)
			}
			wholeFolder(t, reports[0].Dir)
		})
	})
	t.Run("too long for the engine", func(t *testing.T) {
		narrow := sim.Default()
		narrow.MaxModelLen = 311
		onEngine(t, narrow, nil, func(t *testing.T, o Options) {
			o.Fixed = small("", 1)
			_, err := Fixed(t.Context(), o)
			var usage *UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), "needs 312 tokens, the engine's context holds 311") {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(o.Dir, result.FileRecords)); err == nil {
				t.Error("records were written")
			}
		})
	})
	t.Run("usage", func(t *testing.T) {
		for _, f := range []FixedOptions{{}, small(""), {Shapes: []fixed.Shape{{ISL: 1, OSL: 0}}, Concurrency: []int{1}}, small("", 0)} {
			var usage *UsageError
			if _, err := Fixed(t.Context(), Options{Fixed: f, Dir: t.TempDir()}); !errors.As(err, &usage) {
				t.Errorf("%+v: %v", f, err)
			}
		}
	})
}
