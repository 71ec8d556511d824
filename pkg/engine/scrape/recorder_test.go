package scrape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/result/record"
)

// engine answers from memory: at the n-th request, from 0, after some time.
type engine struct {
	answer func(n int, since time.Duration) (page string, after time.Duration)

	mu    sync.Mutex
	start time.Time
	asked []time.Duration
}

func (e *engine) RoundTrip(r *http.Request) (*http.Response, error) {
	e.mu.Lock()
	n, since := len(e.asked), time.Since(e.start)
	e.asked = append(e.asked, since)
	e.mu.Unlock()
	page, after := e.answer(n, since)
	select {
	case <-time.After(after):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if page == "" {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(page)), Request: r}, nil
}

func (e *engine) times() []time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]time.Duration(nil), e.asked...)
}

func status(running, tokens int) string {
	return fmt.Sprintf("vllm:num_requests_running{engine=\"0\"} %d\nvllm:prompt_tokens_total{engine=\"0\"} %d\n", running, tokens)
}

func record1s(t *testing.T, e *engine, o Options) *Recorder {
	t.Helper()
	e.start = time.Now()
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	r, err := Start(Source{URL: "http://engine", Client: &http.Client{Transport: e}, Timeout: 3 * time.Second, Clock: record.NewClock()}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mark(t *testing.T, r *Recorder, name string) Snapshot {
	t.Helper()
	s, err := r.Mark(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCadence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The third page is 1.5 s late: the tick within is left out, and the
		// samples stay on the grid.
		e := &engine{answer: func(n int, _ time.Duration) (string, time.Duration) {
			if n == 2 {
				return status(1, 1), 1500 * time.Millisecond
			}
			return status(1, 1), 10 * time.Millisecond
		}}
		r := record1s(t, e, Options{})
		time.Sleep(6500 * time.Millisecond)
		health := r.Stop()
		var want []time.Duration
		for _, ms := range []int{0, 1000, 2000, 3500, 4000, 5000, 6000} {
			want = append(want, time.Duration(ms)*time.Millisecond)
		}
		got := e.times()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("asked at %v, want %v", got, want)
		}
		if health.Scrapes != 7 || health.Failed != 0 || health.SlowestNs != int64(1500*time.Millisecond) {
			t.Errorf("health %+v", health)
		}
		time.Sleep(5 * time.Second)
		if n := len(e.times()); n != 7 {
			t.Errorf("%d requests after Stop", n-7)
		}
	})
}

func TestDefaultInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{start: time.Now(), answer: func(int, time.Duration) (string, time.Duration) { return status(1, 1), 0 }}
		r, err := Start(Source{URL: "http://engine", Client: &http.Client{Transport: e}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		r.Stop()
		if n := len(e.times()); n != 31 {
			t.Errorf("%d samples in 10 s, want 31", n)
		}
		if !r.Last().At.Seen() {
			t.Error("no stamp, though a recorder has a clock of its own")
		}
	})
}

func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Requests running by second: 0 1 2 3 4 5 6 7 …; tokens 100 a second.
		e := &engine{answer: func(_ int, since time.Duration) (string, time.Duration) {
			return status(int(since/time.Second), int(since.Milliseconds()/10)), 0
		}}
		r := record1s(t, e, Options{})
		time.Sleep(500 * time.Millisecond)
		mark(t, r, "warmup") // at 0.5
		time.Sleep(2 * time.Second)
		mark(t, r, "profiling") // at 2.5
		time.Sleep(3250 * time.Millisecond)
		s := mark(t, r, "end") // at 5.75
		r.Stop()
		if s.Gauges[Running] != 5 || s.Counters[PromptTokens] != 575 {
			t.Errorf("the mark's snapshot is %v %v", s.Gauges, s.Counters)
		}

		check := func(from, to string, mean, most, tokens float64, samples int, covered time.Duration) {
			t.Helper()
			w, err := r.Window(from, to)
			if err != nil {
				t.Fatal(err)
			}
			g := w.Gauges[Running]
			if d := g.Mean - mean; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s to %s: mean %v, want %v", from, to, g.Mean, mean)
			}
			if g.Max != most || w.Delta.Counters[PromptTokens] != tokens || w.Samples != samples || g.CoveredNs != int64(covered) {
				t.Errorf("%s to %s: %+v %+v, want max %v, tokens %v, samples %d, covered %v", from, to, g, w, most, tokens, samples, covered)
			}
			if took, ok := w.End.Sub(w.Start); !ok || took != covered {
				t.Errorf("%s to %s: %v long, want %v", from, to, took, covered)
			}
		}
		// 0 for 0.5 s, 1 for 1 s, 2 for 0.5 s; samples at 1, 2, 2.5.
		check("warmup", "profiling", (0*0.5+1*1+2*0.5)/2, 2, 200, 3, 2*time.Second)
		// 2 for 0.5, 3 and 4 for 1 each, 5 for 0.75; samples at 3, 4, 5, 5.75.
		check("profiling", "end", (2*0.5+3+4+5*0.75)/3.25, 5, 325, 4, 3250*time.Millisecond)
		check("warmup", "end", (0*0.5+1+2+3+4+5*0.75)/5.25, 5, 525, 7, 5250*time.Millisecond)

		for _, pair := range [][2]string{{"end", "warmup"}, {"warmup", "warmup"}, {"warmup", "nowhere"}, {"", "end"}} {
			if w, err := r.Window(pair[0], pair[1]); err == nil {
				t.Errorf("window %q: %+v, want an error", pair, w)
			}
		}
		if _, err := r.Mark(t.Context(), "end"); err == nil {
			t.Error("a mark was set twice")
		}
	})
}

func TestHeldOverFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 4 running at 0 s, then nobody answers until 20 s, then 8.
		e := &engine{answer: func(_ int, since time.Duration) (string, time.Duration) {
			switch {
			case since < 500*time.Millisecond:
				return status(4, 10), 0
			case since < 19500*time.Millisecond:
				return "", 0
			}
			return status(8, 20), 0
		}}
		r := record1s(t, e, Options{Hold: 6 * time.Second})
		mark(t, r, "start")
		time.Sleep(22 * time.Second)
		mark(t, r, "end")
		health := r.Stop()
		if health.Failed != 19 || !strings.Contains(health.LastError, "connection refused") {
			t.Errorf("health %+v", health)
		}
		w, err := r.Window("start", "end")
		if err != nil {
			t.Fatal(err)
		}
		// 4 is held for 6 s, 8 stands for 2 s; the rest is not known.
		if g := w.Gauges[Running]; g.Mean != (4*6+8*2)/8.0 || g.Max != 8 || g.CoveredNs != int64(8*time.Second) {
			t.Errorf("%+v", g)
		}
	})
}

func TestRestartBetweenMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 100 tokens a second; the engine restarts at 3.5 s and comes back faster:
		// the end's counter is above the start's.
		e := &engine{answer: func(_ int, since time.Duration) (string, time.Duration) {
			if since < 3500*time.Millisecond {
				return status(1, int(since.Milliseconds()/10)), 0
			}
			return status(1, int(since.Milliseconds()-3500)/5), 0
		}}
		r := record1s(t, e, Options{})
		time.Sleep(500 * time.Millisecond)
		mark(t, r, "start") // 50
		time.Sleep(time.Second)
		mark(t, r, "middle") // 150
		time.Sleep(5 * time.Second)
		mark(t, r, "end") // 600
		r.Stop()
		w, err := r.Window("start", "end")
		if err != nil {
			t.Fatal(err)
		}
		// From 50 to the last sample before, 300, and all of the second life.
		if d := w.Delta; d.Counters[PromptTokens] != 250+600 || d.Resets[PromptTokens] != 1 || d.From != w.Start || d.To != w.End {
			t.Errorf("%+v", d)
		}
		if w, err = r.Window("start", "middle"); err != nil || w.Delta.Counters[PromptTokens] != 100 || len(w.Delta.Resets) != 0 {
			t.Errorf("before the restart: %+v, %v", w.Delta, err)
		}
	})
}

func TestCounterGoneBetweenMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// As SGLang restarts: its counters are not there until it counts again.
		e := &engine{answer: func(_ int, since time.Duration) (string, time.Duration) {
			running := "sglang:num_running_reqs 1\n"
			if since > 2500*time.Millisecond && since < 4500*time.Millisecond {
				return running, 0
			}
			return running + fmt.Sprintf("sglang:prompt_tokens_total %d\n", since.Milliseconds()), 0
		}}
		r := record1s(t, e, Options{})
		time.Sleep(500 * time.Millisecond)
		mark(t, r, "start")
		time.Sleep(6 * time.Second)
		mark(t, r, "end")
		r.Stop()
		w, err := r.Window("start", "end")
		if err != nil {
			t.Fatal(err)
		}
		if v, there := w.Delta.Counters[PromptTokens]; there || w.Delta.Missing[PromptTokens] == "" {
			t.Errorf("%v tokens, though what the first life counted at its end is lost: %+v", v, w.Delta)
		}
	})
}

func TestFailedMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{answer: func(_ int, since time.Duration) (string, time.Duration) {
			if since == 1500*time.Millisecond {
				return status(1, 1), time.Hour // hangs
			}
			return status(3, int(since/time.Second)), 0
		}}
		r := record1s(t, e, Options{})
		time.Sleep(time.Nanosecond)
		mark(t, r, "start")
		time.Sleep(1500*time.Millisecond - time.Nanosecond)
		began := time.Now()
		if _, err := r.Mark(t.Context(), "hung"); err == nil || !strings.Contains(err.Error(), "no whole page within 3s") {
			t.Errorf("mark: %v", err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the mark took %v", took)
		}
		time.Sleep(time.Second)
		mark(t, r, "end")
		r.Stop()
		// The other samples went on meanwhile.
		if n := len(e.times()); n != 6+3 {
			t.Errorf("%d requests, want 9", n)
		}
		for _, pair := range [][2]string{{"start", "hung"}, {"hung", "end"}} {
			w, err := r.Window(pair[0], pair[1])
			if err != nil {
				t.Fatal(err)
			}
			if len(w.Delta.Counters) != 0 || !strings.Contains(w.Delta.Missing[PromptTokens], `"hung"`) {
				t.Errorf("%v: %+v", pair, w.Delta)
			}
			if w.Gauges[Running].Mean != 3 {
				t.Errorf("%v: running %+v", pair, w.Gauges[Running])
			}
		}
		if w, _ := r.Window("start", "end"); w.Delta.Counters[PromptTokens] != 5 {
			t.Errorf("over the failed mark: %+v", w.Delta)
		}
	})
}

func TestStopEndsAHangingFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{answer: func(int, time.Duration) (string, time.Duration) { return status(1, 1), time.Hour }}
		r := record1s(t, e, Options{})
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		if health := r.Stop(); health.Scrapes != 0 || health.Failed != 0 {
			t.Errorf("stopping counts as %+v", health)
		}
		r.Stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("Stop took %v", took)
		}
	})
}

func TestSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		e := &engine{answer: func(n int, _ time.Duration) (string, time.Duration) { return status(n, 10*n), 0 }}
		r := record1s(t, e, Options{Series: &out})
		time.Sleep(2500 * time.Millisecond)
		mark(t, r, "end")
		r.Stop()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 4 {
			t.Fatalf("%d lines: %s", len(lines), &out)
		}
		for i, line := range lines {
			var s Snapshot
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				t.Fatal(err)
			}
			if !s.At.Seen() || s.Engine != VLLM || s.Gauges[Running] != float64(i) || s.Counters[PromptTokens] != float64(10*i) || s.Missing != nil {
				t.Errorf("line %d: %s", i, line)
			}
		}
	})
}

type full struct{ writes int }

func (f *full) Write([]byte) (int, error) {
	f.writes++
	return 0, errors.New("no space left on device")
}

func TestSeriesOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var disk full
		e := &engine{answer: func(int, time.Duration) (string, time.Duration) { return status(1, 1), 0 }}
		r := record1s(t, e, Options{Series: &disk})
		time.Sleep(3500 * time.Millisecond)
		health := r.Stop()
		if disk.writes != 1 || !strings.Contains(health.SeriesError, "no space left") || health.Scrapes != 4 || health.Failed != 0 {
			t.Errorf("%d writes, %+v", disk.writes, health)
		}
	})
}

// slow is a disk that takes its time.
type slow struct{ lines int }

func (s *slow) Write(b []byte) (int, error) {
	time.Sleep(10 * time.Second)
	s.lines++
	return len(b), nil
}

func TestMarksDoNotWaitForTheSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var disk slow
		e := &engine{answer: func(int, time.Duration) (string, time.Duration) { return status(1, 1), 0 }}
		r := record1s(t, e, Options{Series: &disk})
		time.Sleep(500 * time.Millisecond)
		began := time.Now()
		mark(t, r, "a")
		mark(t, r, "b")
		if took := time.Since(began); took != 0 {
			t.Errorf("the marks took %v", took)
		}
		r.Stop()
		if disk.lines != 3 {
			t.Errorf("%d lines, want all 3", disk.lines)
		}
	})
}

func TestMarksFromManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{answer: func(n int, since time.Duration) (string, time.Duration) {
			return status(1, int(since/time.Millisecond)), time.Duration(n%7) * 100 * time.Millisecond
		}}
		r := record1s(t, e, Options{Series: io.Discard})
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 50 * time.Millisecond)
				if _, err := r.Mark(context.Background(), fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
				r.Health()
				r.Last()
			})
		}
		all.Wait()
		if h := r.Stop(); h.Failed != 0 || h.Scrapes < 50 {
			t.Errorf("%+v", h)
		}
		w, err := r.Window("0", "49")
		if err != nil || w.Gauges[Running].Mean != 1 {
			t.Errorf("%+v, %v", w, err)
		}
	})
}

func TestStartRefuses(t *testing.T) {
	if r, err := Start(Source{URL: "localhost:8000"}, Options{}); err == nil {
		r.Stop()
		t.Error("started without a scheme")
	}
}
