package compare

import (
	"cmp"
	"math"
	"slices"
	"unique"
)

// pairs is what two sides have in common, by root trace. A side is one run or
// several; a request is compared when every run of both sides measured it, so
// that all figures speak of the same work.
type pairs struct {
	head, base []*Run
	traces     []string // clusters, sorted
	sizes      []int    // completed pairs of each

	rows []row // sorted by key
	Pairing
}

// row is one request as every run saw it.
type row struct {
	cluster    int32
	head, base []*request // one a run
	headFailed int        // runs in which it failed
	baseFailed int
}

// pair finds the common requests.
func pair(head, base []*Run) *pairs {
	p := &pairs{head: head, base: base}
	clusters := map[unique.Handle[string]]int32{}
	for _, k := range p.keys() {
		h, hok := side(head, k)
		b, bok := side(base, k)
		hf, bf := failures(h), failures(b)
		switch {
		case !hok && !bok:
			continue
		case !bok:
			p.HeadOnly++
			continue
		case !hok:
			p.BaseOnly++
			continue
		case hf > 0 && bf > 0:
			p.BothFailed++
		case hf > 0:
			p.HeadFailed++
		case bf > 0:
			p.BaseFailed++
		}
		c, known := clusters[k.trace]
		if !known {
			c = int32(len(p.traces))
			clusters[k.trace] = c
			p.traces = append(p.traces, k.trace.Value())
			p.sizes = append(p.sizes, 0)
		}
		if hf == 0 && bf == 0 {
			p.Pairs++
			p.sizes[c]++
		}
		p.rows = append(p.rows, row{c, h, b, hf, bf})
	}
	p.describe()
	return p
}

// headRepeats are two runs of the head as two sides, on the same requests.
func (p *pairs) headRepeats(i, j int) *pairs {
	return p.asSides(p.head, i, j, func(r *row) []*request { return r.head })
}

// baseRepeats are two runs of the base as two sides, on the same requests.
func (p *pairs) baseRepeats(i, j int) *pairs {
	return p.asSides(p.base, i, j, func(r *row) []*request { return r.base })
}

func (p *pairs) asSides(runs []*Run, i, j int, of func(*row) []*request) *pairs {
	two := &pairs{head: runs[i : i+1], base: runs[j : j+1], traces: p.traces, sizes: make([]int, len(p.traces))}
	for k := range p.rows {
		all := of(&p.rows[k])
		r := row{cluster: p.rows[k].cluster, head: all[i : i+1], base: all[j : j+1]}
		r.headFailed, r.baseFailed = failures(r.head), failures(r.base)
		if r.headFailed+r.baseFailed == 0 {
			two.Pairs++
			two.sizes[r.cluster]++
		}
		two.rows = append(two.rows, r)
	}
	two.describe()
	return two
}

func failures(qs []*request) (n int) {
	for _, q := range qs {
		if q.outcome == failed {
			n++
		}
	}
	return n
}

// describe fills in how much was compared.
func (p *pairs) describe() {
	if all := len(p.rows) + p.HeadOnly + p.BaseOnly; all > 0 {
		p.Coverage = float64(p.Pairs) / float64(all)
	}
	largest := 0
	for _, n := range p.sizes {
		largest = max(largest, n)
		if n > 0 {
			p.RootTraces++
		}
	}
	p.EffectiveN = kish(p.sizes)
	if p.Pairs > 0 {
		p.LargestPart = float64(largest) / float64(p.Pairs)
	}
}

// keys lists the keys of all runs, sorted, each once.
func (p *pairs) keys() []key {
	seen := map[key]struct{}{}
	for _, r := range slices.Concat(p.head, p.base) {
		for k := range r.index {
			seen[k] = struct{}{}
		}
	}
	out := make([]key, 0, len(seen))
	for k := range seen {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b key) int {
		if c := compareText(a.trace, b.trace); c != 0 {
			return c
		}
		if c := cmp.Compare(a.pass, b.pass); c != 0 {
			return c
		}
		if c := compareText(a.stream, b.stream); c != 0 {
			return c
		}
		return cmp.Compare(a.turn, b.turn)
	})
	return out
}

func compareText(a, b unique.Handle[string]) int {
	if a == b {
		return 0
	}
	return cmp.Compare(a.Value(), b.Value())
}

// side gives a request of every run of a side; ok is false when one of them did
// not measure it.
func side(runs []*Run, k key) (out []*request, ok bool) {
	out = make([]*request, 0, len(runs))
	for _, r := range runs {
		i, known := r.index[k]
		if !known || r.requests[i].outcome == left {
			return nil, false
		}
		out = append(out, &r.requests[i])
	}
	return out, true
}

// table is one latency on both sides, sorted.
type table struct {
	head, base []value
	nearest    bool // failures are among them
	n          int  // requests
}

// latencies gathers a figure of every common request; a failure counts as
// infinitely slow on its side (spec/replay.md §7.6). A request of which a run
// that completed it has no such figure is left out.
func (p *pairs) latencies(of func(*request) float64) table {
	var t table
next:
	for _, r := range p.rows {
		h, b := len(t.head), len(t.base)
		for _, s := range []struct {
			from []*request
			to   *[]value
		}{{r.head, &t.head}, {r.base, &t.base}} {
			for _, q := range s.from {
				v := math.Inf(1)
				if q.outcome == done {
					if v = of(q); math.IsNaN(v) {
						t.head, t.base = t.head[:h], t.base[:b]
						continue next
					}
				}
				*s.to = append(*s.to, value{v, r.cluster})
			}
		}
		t.n++
		t.nearest = t.nearest || r.headFailed+r.baseFailed > 0
	}
	sorted(t.head)
	sorted(t.base)
	return t
}

// completed yields the rows that no run failed on.
func (p *pairs) completed(yield func(*row) bool) {
	for i := range p.rows {
		if r := &p.rows[i]; r.headFailed+r.baseFailed == 0 && !yield(r) {
			return
		}
	}
}

// mean is the mean of a figure over the runs of a side, NaN when one lacks it.
func mean(qs []*request, of func(*request) float64) float64 {
	sum := 0.0
	for _, q := range qs {
		sum += of(q)
	}
	return sum / float64(len(qs))
}
