package scrape

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result/record"
)

// several records servers by their answers, marks "a" at 0.5 s and "b" at 6.5 s.
func several(t *testing.T, answers ...func(since time.Duration) string) []*Recorder {
	t.Helper()
	clock := record.NewClock()
	var all []*Recorder
	for i, answer := range answers {
		e := &engine{start: time.Now(), answer: func(_ int, since time.Duration) (string, time.Duration) { return answer(since), 0 }}
		r, err := Start(Source{URL: fmt.Sprintf("http://engine%d", i), Client: &http.Client{Transport: e}, Clock: clock}, Options{Interval: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	time.Sleep(500 * time.Millisecond)
	for _, r := range all {
		_, _ = r.Mark(t.Context(), "a")
	}
	time.Sleep(6 * time.Second)
	for _, r := range all {
		_, _ = r.Mark(t.Context(), "b")
		r.Stop()
	}
	return all
}

// Two replicas are busy in turns: 4 requests run at any moment, though each has
// had 4, and the means of the KV usage go by the engines behind each page.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := func(mine int) func(time.Duration) string {
			return func(since time.Duration) string {
				running := 0
				if int(since/time.Second)%2 == mine {
					running = 4
				}
				page := status(running, int(since.Milliseconds()/10)*(1+mine)) + "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\n"
				if mine == 1 {
					page += "vllm:kv_cache_usage_perc{engine=\"1\"} 0.8\nvllm:kv_cache_usage_perc{engine=\"2\"} 0.8\n"
				}
				return page
			}
		}
		all := several(t, turn(0), turn(1))
		if got := Distinct(all, "a", "b"); len(got) != 2 {
			t.Fatalf("%d engines, want 2", len(got))
		}
		w, err := Together(all, "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Delta.Counters[PromptTokens]; got != 600+1200 {
			t.Errorf("prompt tokens %v, want 1800", got)
		}
		want := map[Name]Level{
			Running:     {Mean: 4, Max: 4, CoveredNs: int64(6 * time.Second)},
			KVUsageMean: {Mean: 0.65, Max: 0.65, CoveredNs: int64(6 * time.Second)},
			KVUsageMax:  {Mean: 0.8, Max: 0.8, CoveredNs: int64(6 * time.Second)},
		}
		if diff := cmp.Diff(want, w.Gauges, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
			t.Errorf("gauges (-want +got):\n%s", diff)
		}
	})
}

func TestTogetherLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sglang := func(cached string) func(time.Duration) string {
			return func(since time.Duration) string {
				return fmt.Sprintf("sglang:prompt_tokens_total %d\n%s", since.Milliseconds(), cached)
			}
		}
		hits := `sglang:cached_tokens_total{cache_source="device"} 5` + "\n"
		all := several(t, sglang(hits), sglang(""))
		w, err := Together(all, "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		// The second has not found anything yet, so its counter is not there.
		if got, ok := w.Delta.Counters[PrefixHits]; !ok || got != 0 {
			t.Errorf("hits %v %v, missing %q", got, ok, w.Delta.Missing[PrefixHits])
		}
		if why := w.Delta.Missing[Preemptions]; !strings.Contains(why, "http://engine0") {
			t.Errorf("a counter that none has is missing for %q", why)
		}
		broken := sglang("sglang:cached_tokens_total{cache_source=\"device\"} NaN\n")
		w, err = Together(several(t, sglang(hits), broken), "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := w.Delta.Counters[PrefixHits]; ok || !strings.Contains(w.Delta.Missing[PrefixHits], "http://engine1") {
			t.Errorf("a sum without one of its engines: %v, %q", w.Delta.Counters, w.Delta.Missing[PrefixHits])
		}
		// One server is gone at the second mark.
		gone := func(since time.Duration) string {
			if since > 4*time.Second {
				return ""
			}
			return sglang(hits)(since)
		}
		w, err = Together(several(t, sglang(hits), gone), "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := w.Delta.Counters[PromptTokens]; ok || w.Delta.Missing[PromptTokens] == "" {
			t.Errorf("counters without one of the servers: %v", w.Delta.Counters)
		}
	})
}

// Equal labels at two addresses: the same engines when they count the same,
// other engines when they do not, and two idle ones cannot be told apart.
func TestDistinct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := func(perSecond float64) func(time.Duration) string {
			return func(since time.Duration) string { return status(1, int(since.Seconds()*perSecond)) }
		}
		for name, tt := range map[string]struct {
			answers []func(time.Duration) string
			want    int
		}{
			"one page twice":     {[]func(time.Duration) string{rate(1000), rate(1000)}, 1},
			"replicas":           {[]func(time.Duration) string{rate(1000), rate(1004)}, 2},
			"idle":               {[]func(time.Duration) string{rate(0), rate(0)}, 2},
			"two pages, one new": {[]func(time.Duration) string{rate(1000), rate(500), rate(1000)}, 2},
		} {
			if got := len(Distinct(several(t, tt.answers...), "a", "b")); got != tt.want {
				t.Errorf("%s: %d engines, want %d", name, got, tt.want)
			}
		}
	})
}

// vllm-router's main port shows one worker after another. What such a page says
// is nobody's count.
func TestPageThatAlternates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		all := several(t, func(since time.Duration) string {
			n++
			return status(1, int(since.Milliseconds())+100_000*(n%2))
		})
		w, err := all[0].Window("a", "b")
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := w.Delta.Counters[PromptTokens]; ok || !strings.Contains(w.Delta.Missing[PromptTokens], "router") {
			t.Errorf("counted %v on a page of two engines in turn, missing %q", w.Delta.Counters, w.Delta.Missing[PromptTokens])
		}
	})
}
