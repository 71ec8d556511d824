package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/fixed"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/validity"
)

// counting starts the embedded engine anew each time, and counts.
type counting struct {
	deploy.Driver
	started atomic.Int32
}

func newCounting() *counting {
	return &counting{Driver: deploy.Serve(func(ctx context.Context, l net.Listener) error {
		server, err := sim.New(sim.Default())
		if err != nil {
			return err
		}
		return errors.Join(server.Serve(ctx, l), server.Close())
	})}
}

func (c *counting) Start(ctx context.Context, name string, logs io.Writer) (deploy.Engine, error) {
	fmt.Fprintf(logs, "engine number %d\n", c.started.Add(1))
	return c.Driver.Start(ctx, name, logs)
}

func sweepOptions(t *testing.T, d deploy.Driver, fresh Fresh) Options {
	o := Options{Dir: filepath.Join(t.TempDir(), "artifacts"), Source: Source{Sample: true}, Deploy: Deploy{Driver: d, Fresh: fresh}, Counting: "server"}
	o.Settings.Concurrency = []int{2, 1}
	o.Settings.BenchmarkDurationS, o.Settings.TraceIdleGapCapS, o.Settings.RandomSeed = p(1.0), p(0.1), p(uint64(7))
	o.Fixed = FixedOptions{Shapes: []fixed.Shape{{ISL: 64, OSL: 4}}, Concurrency: []int{1}, Endpoint: fixed.Chat}
	return o
}

// A sweep has a result for every concurrency, each on a cold cache, in the order
// given; the log of an engine lies with the results that it gave.
func TestSweep(t *testing.T) {
	for _, c := range []struct {
		fresh   Fresh
		engines int32
		logs    []string // folders with an engine's log
	}{
		{"", 1, []string{"."}},
		{FreshConcurrency, 2, []string{"c2", "c1"}},
		{FreshPoint, 4, []string{"c2", "c2/fixed-64x4", "c1", "c1/fixed-64x4"}},
	} {
		t.Run("fresh "+string(c.fresh), func(t *testing.T) {
			t.Parallel()
			driver := newCounting()
			o := sweepOptions(t, driver, c.fresh)
			reports, err := Sweep(t.Context(), o)
			if err != nil || len(reports) != 2 {
				t.Fatalf("%d reports: %v", len(reports), err)
			}
			if n := driver.started.Load(); n != c.engines {
				t.Errorf("%d engines were started, want %d", n, c.engines)
			}
			for i, r := range reports {
				wholeFolder(t, r.Dir)
				if want := filepath.Join(o.Dir, []string{"c2", "c1"}[i]); r.Dir != want || r.Document.Settings.Concurrency != 2-i {
					t.Errorf("point %d: %d lanes in %s, want %s", i, r.Document.Settings.Concurrency, r.Dir, want)
				}
				if s := r.Document.Settings.Other["sweep"]; !strings.HasPrefix(s, fmt.Sprintf("%d of [2 1]", i+1)) {
					t.Errorf("point %d: its place is %q", i, s)
				}
				for _, f := range r.Document.Validity.Findings {
					if f.Code == validity.CacheNotCold || f.Code == validity.EngineCountersDiffer {
						t.Errorf("point %d: %+v", i, f)
					}
				}
				if len(r.Fixed) != 1 {
					t.Errorf("point %d: %d baselines", i, len(r.Fixed))
				}
			}
			var logs []string
			_ = filepath.WalkDir(o.Dir, func(path string, d os.DirEntry, err error) error {
				if err == nil && strings.HasPrefix(d.Name(), result.FileEngineLog) {
					rel, _ := filepath.Rel(o.Dir, filepath.Dir(path))
					logs = append(logs, rel)
				}
				return err
			})
			if len(logs) != len(c.logs) {
				t.Errorf("logs in %v, want %v", logs, c.logs)
			}
			for _, dir := range c.logs {
				if _, err := os.Stat(filepath.Join(o.Dir, dir, result.FileEngineLog)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// An engine that does not come up is an error with its last words, and its log is
// kept.
func TestEngineDoesNotComeUp(t *testing.T) {
	o := sweepOptions(t, broken{}, "")
	_, err := Sweep(t.Context(), o)
	var start *deploy.StartError
	if !errors.As(err, &start) || !strings.Contains(err.Error(), "CUDA out of memory") {
		t.Fatalf("%v", err)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, result.FileEngineLog))
	if err != nil || !strings.Contains(string(text), "CUDA out of memory") {
		t.Errorf("log %q: %v", text, err)
	}
}

// broken is an engine that says why, and ends.
type broken struct{}

func (broken) Sweep(context.Context) ([]string, error) { return nil, nil }

func (broken) Start(ctx context.Context, name string, logs io.Writer) (deploy.Engine, error) {
	fmt.Fprintln(logs, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.")
	d := deploy.Serve(func(ctx context.Context, l net.Listener) error { return errors.New("exit status 1") })
	return d.Start(ctx, name, logs)
}
