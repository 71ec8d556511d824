package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entered is a tree of a trace that no step has touched.
func entered(t *testing.T, jsonl string) *play {
	t.Helper()
	cfg := defaults(Config{})
	r := &run{cfg: cfg, lanes: []*lane{{}}, reused: map[string]*reach{}, out: Outcome{Played: map[string]int{}}}
	sc, err := newShelf(read(t, jsonl)).take(0)
	if err != nil {
		t.Fatal(err)
	}
	return r.newPlay(0, sc)
}

func states(p *play) string {
	var out []string
	for _, s := range p.streams {
		id := strings.TrimPrefix(s.ID, "a::sa:")
		out = append(out, fmt.Sprintf("%s %s %d", id, [...]string{"closed", "open", "", "", "", "over"}[s.state], s.next))
	}
	return strings.Join(out, ", ")
}

// spec/replay.md §4.3: a child is open when its branch began before t* or its
// spawn turn has passed.
func TestSnapshot(t *testing.T) {
	for tS, want := range map[float64]string{
		0.5: "a open 0, x closed 0, y closed 0, b closed 0",
		2.0: "a open 1, x open 0, y open 0, b closed 0", // spawn turn passed, branch not begun
		2.6: "a open 1, x open 1, y open 0, b closed 0", // the root waits for both
		45:  "a open 1, x over 2, y over 1, b closed 0",
		61:  "a open 2, x over 2, y over 1, b open 0",
		800: "a over 4, x over 2, y over 1, b open 1", // without a root
	} {
		p := entered(t, family)
		live := p.snapshot(tS)
		if got := states(p); got != want {
			t.Errorf("at %v: %s, want %s", tS, got, want)
		}
		if live != strings.Count(want, "open") {
			t.Errorf("at %v: %d live", tS, live)
		}
		if tS == 2.6 && p.free(p.streams[0].turn()) {
			t.Error("the root does not wait")
		}
	}
}

func TestSplit(t *testing.T) {
	for ratio, want := range map[float64]int{0: 0, 0.25: 1, 0.5: 2, 1: 2} {
		p := entered(t, family)
		p.split(ratio)
		if got := p.streams[0].next; got != want {
			t.Errorf("%v: turn %d, want %d", ratio, got, want)
		}
	}
	one := entered(t, `{"id":"o","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[{"t":3,"type":"n","model":"m","in":64,"out":5,"hash_ids":[1],"api_time":10}]}`)
	if one.split(1); one.streams[0].next != 0 || one.streams[0].state != ready {
		t.Error("a root of one turn cannot be entered")
	}
}

func TestSamplers(t *testing.T) {
	draw := func(cfg Config, lane, n int) (out []int) {
		s := samplers(cfg, 5)[lane]
		for range n {
			if ahead := s.peek(); ahead >= 0 {
				out = append(out, s.next())
				if out[len(out)-1] != ahead {
					t.Error("peek lied")
				}
				continue
			}
			out = append(out, s.next())
		}
		return out
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 0, 1}, draw(Config{Concurrency: 1}, 0, 7)); diff != "" {
		t.Error(diff)
	}
	for _, cfg := range []Config{
		{Concurrency: 3, Seed: 9, Sampling: SamplingShuffle},
		{Concurrency: 3, Seed: 9, LanePlan: LanePlanSeeded},
	} {
		got := draw(cfg, 1, 20)
		for pass := range 4 {
			seen := map[int]bool{}
			for _, i := range got[5*pass : 5*pass+5] {
				seen[i] = true
			}
			if len(seen) != 5 {
				t.Error("a pass leaves traces out:", got)
			}
		}
		if cmp.Equal(got[:5], got[5:10]) && cmp.Equal(got[5:10], got[10:15]) {
			t.Error("passes are alike:", got)
		}
		if diff := cmp.Diff(got, draw(cfg, 1, 20)); diff != "" {
			t.Error("not seeded:", diff)
		}
		if same := cmp.Equal(got, draw(cfg, 2, 20)); same != (cfg.LanePlan == "") {
			t.Errorf("%+v: lanes alike: %v", cfg, same)
		}
	}
	if a, b := draw(Config{Concurrency: 1, Seed: 1, Sampling: SamplingRandom}, 0, 50), draw(Config{Concurrency: 1, Seed: 2, Sampling: SamplingRandom}, 0, 50); cmp.Equal(a, b) {
		t.Error("random does not follow its seed")
	}
}

func TestConfigRefused(t *testing.T) {
	w := Workload{Traces: read(t, family), Maker: maker}
	for want, change := range map[string]func(*Config){
		"concurrency":     func(c *Config) { c.Concurrency = 0 },
		"duration":        func(c *Config) { c.Duration = 0 },
		"exclude":         func(c *Config) { c.WarmupDuration, c.WarmupPerLane = 1, 1 },
		"window":          func(c *Config) { c.StartMinRatio, c.StartMaxRatio = 0.7, 0.2 },
		"model":           func(c *Config) { c.Models = nil },
		"idle cap":        func(c *Config) { c.SystemIdleCap = -1 },
		`sampling "best"`: func(c *Config) { c.Sampling = "best" },
		`lane plan "x"`:   func(c *Config) { c.LanePlan = "x" },
		`delays "x"`:      func(c *Config) { c.Delays = "x" },
	} {
		cfg := defaults(Config{})
		if err := cfg.check(w); err != nil {
			t.Fatal(err)
		}
		change(&cfg)
		if err := cfg.check(w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	cfg := defaults(Config{})
	if err := cfg.check(Workload{}); err == nil {
		t.Error("nothing to play is no error")
	}
}
