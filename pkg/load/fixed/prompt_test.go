package fixed

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

func TestParseShape(t *testing.T) {
	for text, want := range map[string]Shape{
		"8192:1024": {8192, 1024}, "8k/1k": {8192, 1024}, "8k1k": {8192, 1024}, "1K:128": {1024, 128}, "1k1k": {1024, 1024}, "7/3": {7, 3},
	} {
		if got, err := ParseShape(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "8k", "8192", "0:1", "1:0", "-1:5", "a:b", "1:2:3", "99999999k:1", "1e3:1", ":", "k:k"} {
		if got, err := ParseShape(text); err == nil || !strings.Contains(err.Error(), "shape") {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func TestCheckNamesEverything(t *testing.T) {
	err := Config{RangeRatio: 2, Prompts: -1, OverheadTokens: -1, Endpoint: "embeddings"}.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"shape", "concurrency", "range ratio", "prompts", "overhead", "model", "embeddings"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not named in: %v", part, err)
		}
	}
}

// config is a run of many prompts.
func config() Config {
	return Config{Shape: Shape{1024, 128}, Concurrency: 200, Seed: 7, RunID: "run", Model: "m"}.Defaults()
}

// TestLengths draws whole numbers uniformly from [int(L·ratio), L], by seed alone.
func TestLengths(t *testing.T) {
	cfg := config()
	cfg.Shape, cfg.Prompts = Shape{103, 11}, 40_000
	m := newMaker(cfg)
	for _, side := range []struct {
		name      string
		of        func(plan) int
		low, high int // int(103·0.8) = 82, int(11·0.8) = 8
	}{{"isl", func(p plan) int { return p.isl }, 82, 103}, {"osl", func(p plan) int { return p.osl }, 8, 11}} {
		seen := map[int]int{}
		for _, p := range m.plans[cfg.Warmups:] {
			seen[side.of(p)]++
		}
		n := side.high - side.low + 1
		keys := slices.Sorted(maps.Keys(seen))
		if keys[0] != side.low || keys[len(keys)-1] != side.high || len(keys) != n {
			t.Errorf("%s: drawn from %d to %d, %d values", side.name, keys[0], keys[len(keys)-1], len(keys))
		}
		want := float64(cfg.Prompts) / float64(n)
		chi := 0.0
		for _, k := range seen {
			chi += (float64(k) - want) * (float64(k) - want) / want
		}
		if chi > 3*float64(n) { // the mean is n−1; the seed is fixed
			t.Errorf("%s: chi-square %.0f for %d values", side.name, chi, n)
		}
	}

	again, other := cfg, cfg
	again.RunID, again.Warmups = "another", 3
	other.Seed++
	if a, b := m.plans[cfg.Warmups:], newMaker(again).plans[3:]; !slices.Equal(a, b) {
		t.Error("the same seed gave other lengths with another run id and other warm-ups")
	}
	if a, b := m.plans[cfg.Warmups:], newMaker(other).plans[cfg.Warmups:]; slices.Equal(a, b) {
		t.Error("another seed gave the same lengths")
	}
}

func read(t *testing.T, c *content) string {
	t.Helper()
	text, err := io.ReadAll(io.LimitReader(c, 1<<30))
	if err != nil || int64(len(text)) != c.Len() {
		t.Fatalf("%d bytes of %d: %v", len(text), c.Len(), err)
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("no JSON string: %v in %.100s", err, text)
	}
	return s
}

// TestNoSharedPrefix looks at all prompts of a run, warm-ups included: as long as
// there are words enough, no two begin with the same one; then not with the same two.
func TestNoSharedPrefix(t *testing.T) {
	cfg := config() // 400 warm-ups and 2,000 prompts
	m := newMaker(cfg)
	list := len(words.List())
	first, pairs, bodies := map[string]int{}, map[string]bool{}, map[string]bool{}
	for num := range m.plans {
		text := strings.Fields(read(t, m.prompt(num)))
		if len(text) != m.plans[num].isl {
			t.Fatalf("prompt %d has %d words, drawn were %d", num, len(text), m.plans[num].isl)
		}
		first[text[0]]++
		pairs[text[0]+" "+text[1]] = true
		bodies[strings.Join(text[markerWords:], " ")] = true
		if num+1 == list && len(first) != list {
			t.Errorf("%d first words in the first %d prompts", len(first), list)
		}
	}
	if len(pairs) != len(m.plans) || len(bodies) != len(m.plans) {
		t.Errorf("%d prompts begin with %d pairs of words and have %d texts", len(m.plans), len(pairs), len(bodies))
	}
}

// TestRunsDifferOnlyInTheMarker lets the same seed give the same texts, and a run
// id of its own other beginnings.
func TestRunsDifferOnlyInTheMarker(t *testing.T) {
	cfg := config()
	other := cfg
	other.RunID, other.Warmups = "another", 1
	a, b := newMaker(cfg), newMaker(other)
	begun := map[string]bool{}
	for i := range 50 {
		x, y := a.prompt(cfg.Warmups+i), b.prompt(1+i)
		s, u := read(t, x), read(t, y)
		begun[strings.Join(strings.Fields(s)[:3], " ")] = true
		begun[strings.Join(strings.Fields(u)[:3], " ")] = true
		if x.digest() == "" || x.digest() != y.digest() || s == u {
			t.Errorf("prompt %d: digests %s and %s, equal %v", i, x.digest(), y.digest(), s == u)
		}
	}
	if len(begun) != 100 {
		t.Errorf("%d of 100 prompts of two runs begin in their own way", len(begun))
	}
}

// TestVeryLongAndVeryShort prompts keep their length.
func TestVeryLongAndVeryShort(t *testing.T) {
	cfg := config()
	cfg.RangeRatio = 1
	for _, isl := range []int{1, 2, markerWords, markerWords + 1, words.Size + 3} {
		cfg.Shape.ISL = isl
		if got := words.Count(read(t, newMaker(cfg).prompt(5))); got != isl {
			t.Errorf("%d words for a prompt of %d", got, isl)
		}
	}
	cfg.Shape.ISL, cfg.OverheadTokens = 4, 9
	if got := words.Count(read(t, newMaker(cfg).prompt(5))); got != 1 {
		t.Errorf("%d words are left of 4 tokens with an overhead of 9", got)
	}
}

func BenchmarkPrompt(b *testing.B) {
	cfg := config()
	cfg.Shape.ISL = 8192
	m := newMaker(cfg)
	buf := make([]byte, 32<<10)
	for b.Loop() {
		c := m.prompt(500)
		for {
			if _, err := c.Read(buf); err != nil {
				break
			}
		}
	}
}
