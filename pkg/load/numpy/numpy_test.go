package numpy

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

type goldenCase struct {
	Seed        uint64    `json:"seed,string"`
	Uint64      []string  `json:"uint64"`
	Float64     []float64 `json:"float64"`
	Uniform     []float64 `json:"uniform"`
	Integers    []int     `json:"integers"`
	Mixed       []string  `json:"mixed"`
	Shuffle     []int     `json:"shuffle"`
	Permutation []int     `json:"permutation"`
}

func readJSON[T any](t *testing.T, path string) T {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not in this checkout", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

func text(v uint64) string { return strconv.FormatUint(v, 10) }

func TestGeneratorEqualsNumPy(t *testing.T) {
	golden := readJSON[struct {
		NumPy string       `json:"numpy"`
		Cases []goldenCase `json:"cases"`
	}](t, "testdata/golden.json")
	if len(golden.Cases) == 0 {
		t.Fatal("no golden cases")
	}
	for _, want := range golden.Cases {
		got := goldenCase{Seed: want.Seed}

		g := New(want.Seed)
		for range want.Uint64 {
			got.Uint64 = append(got.Uint64, text(g.Uint64()))
		}
		g = New(want.Seed)
		for range want.Float64 {
			got.Float64 = append(got.Float64, g.Float64())
		}
		for _, span := range [][2]float64{{0, 1}, {-3.5, 1e9}, {7, 7}, {0.1, 0.3}} {
			got.Uniform = append(got.Uniform, New(want.Seed).Uniform(span[0], span[1]))
		}
		g = New(want.Seed)
		for _, n := range []int{1, 2, 3, 7, 64, 393, 1e6, 1<<31 + 1, 1<<32 - 1, 1<<31 + 1, 3 << 30} {
			got.Integers = append(got.Integers, g.IntN(n))
		}
		g = New(want.Seed)
		got.Mixed = []string{text(uint64(g.IntN(6))), text(g.Uint64()), text(uint64(g.IntN(6)))}
		got.Shuffle = make([]int, len(want.Shuffle))
		for i := range got.Shuffle {
			got.Shuffle[i] = i
		}
		New(want.Seed).Shuffle(len(got.Shuffle), func(i, j int) {
			got.Shuffle[i], got.Shuffle[j] = got.Shuffle[j], got.Shuffle[i]
		})
		got.Permutation = New(want.Seed).Permutation(len(want.Permutation))

		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d, NumPy %s (-) against ours (+):\n%s", want.Seed, golden.NumPy, diff)
		}
	}
}

func TestTStarEqualsGolden(t *testing.T) {
	for _, path := range []string{
		"testdata/tstar.json",
		filepath.Join("..", "..", "..", "..", "shared", "spec", "golden", "tstar.json"),
	} {
		t.Run(path, func(t *testing.T) {
			golden := readJSON[struct {
				Cases []struct {
					RandomSeed uint64  `json:"random_seed"`
					TraceID    string  `json:"trace_id"`
					Lane       int     `json:"lane"`
					RatioMin   float64 `json:"ratio_min"`
					RatioMax   float64 `json:"ratio_max"`
					SpanMinS   float64 `json:"span_min_s"`
					SpanMaxS   float64 `json:"span_max_s"`
					Seed       uint64  `json:"seed,string"`
					Uniform01  float64 `json:"uniform01"`
					TStarS     float64 `json:"t_star_s"`
				} `json:"cases"`
			}](t, path)
			if len(golden.Cases) == 0 {
				t.Fatal("no golden cases")
			}
			for _, c := range golden.Cases {
				name := c.TraceID + ":" + text(uint64(c.Lane))
				if got := Derive(c.RandomSeed, name); got != c.Seed {
					t.Errorf("Derive(%d, %q) = %d, want %d", c.RandomSeed, name, got, c.Seed)
				}
				if got := New(c.Seed).Float64(); got != c.Uniform01 {
					t.Errorf("New(%d).Float64() = %v, want %v", c.Seed, got, c.Uniform01)
				}
				got := TStar(c.RandomSeed, c.TraceID, c.Lane, c.SpanMinS, c.SpanMaxS, c.RatioMin, c.RatioMax)
				if got != c.TStarS {
					t.Errorf("t* of %s on lane %d in %v…%v with seed %d = %v, want %v",
						c.TraceID, c.Lane, c.RatioMin, c.RatioMax, c.RandomSeed, got, c.TStarS)
				}
			}
		})
	}
}

func TestIntNRefusesBoundsOutsideItsRange(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 0, 1 << 32, math.MaxInt} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("IntN(%d) did not panic", n)
				}
			}()
			New(1).IntN(n)
		}()
	}
}

func TestPermutationHoldsEveryIndexOnce(t *testing.T) {
	for n := range 50 {
		order := New(uint64(n)).Permutation(n)
		slices.Sort(order)
		for i, v := range order {
			if v != i {
				t.Fatalf("Permutation(%d) sorted has %d at %d", n, v, i)
			}
		}
	}
}

func BenchmarkTStar(b *testing.B) {
	for b.Loop() {
		TStar(42, "trace_0014", 3, 0, 17671, 0.25, 0.75)
	}
}
