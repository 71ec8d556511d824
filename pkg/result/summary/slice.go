package summary

import (
	"math"
	"slices"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// Slice is one stretch of the profiling phase.
type Slice struct {
	// Start, in seconds since the phase started.
	StartS float64 `json:"start_s"`
	// End, in seconds since the phase started.
	EndS float64 `json:"end_s"`
	// Requests sent in the slice.
	Sent int `json:"sent"`
	// Requests that ended with success in the slice.
	Done int `json:"done"`
	// Requests that failed in the slice.
	Errors int `json:"errors"`
	// Input tokens of requests whose first token came in the slice.
	TokensIn float64 `json:"tokens_in"`
	// Output tokens, each request's spread evenly from first token to end.
	TokensOut float64 `json:"tokens_out"`
	// Requests in flight, mean over the slice.
	InFlight float64 `json:"in_flight"`
	// Time to first token of the requests that ended in the slice, in ms.
	TTFTP50Ms *float64 `json:"ttft_p50_ms,omitzero"`
	// As ttft_p50_ms, 90th percentile.
	TTFTP90Ms *float64 `json:"ttft_p90_ms,omitzero"`
	// Inter-token latency of the requests that ended in the slice, in ms.
	ITLP50Ms *float64 `json:"itl_p50_ms,omitzero"`
}

const (
	defaultSliceS = 60
	// maxSlices bounds the list; longer runs get longer slices.
	maxSlices = 10_000
)

// slices cuts the time from the start of the phase to the last end.
func (b *Builder) slices(w span) []Slice {
	last := w.start
	for _, k := range b.kept {
		last = max(last, k.end)
	}
	total := secondsBetween(w.start, last)
	if len(b.kept) == 0 || total <= 0 {
		return nil
	}
	length := b.opt.SliceS
	if !(length > 0) {
		length = defaultSliceS
	}
	for total/length > maxSlices {
		length *= 2
	}
	// What ends on the edge of the last slice belongs to it.
	g := newGrid(w.start, length, max(int(math.Ceil(total/length-1e-9)), 1))
	for _, k := range b.kept {
		g.add(k)
	}
	return g.list(total)
}

// grid adds requests to slices of equal length.
type grid struct {
	start    record.Stamp
	ns       float64
	out      []Slice
	inFlight spread
	tokens   spread
	ttft     [][]float64
	itl      [][]float64
}

func newGrid(start record.Stamp, lengthS float64, n int) *grid {
	return &grid{
		start: start, ns: lengthS * 1e9, out: make([]Slice, n),
		inFlight: newSpread(n), tokens: newSpread(n),
		ttft: make([][]float64, n), itl: make([][]float64, n),
	}
}

func (g *grid) at(s record.Stamp) int {
	return min(max(int(float64(s-g.start)/g.ns), 0), len(g.out)-1)
}

func (g *grid) add(k kept) {
	end := g.at(k.end)
	g.out[g.at(k.sent)].Sent++
	g.inFlight.add(float64(k.sent-g.start)/g.ns, float64(k.end-g.start)/g.ns, 1)
	if k.failed {
		g.out[end].Errors++
	}
	if !k.ok {
		return
	}
	g.out[end].Done++
	if k.ttftMs >= 0 {
		g.ttft[end] = append(g.ttft[end], k.ttftMs)
	}
	if k.itlMs >= 0 {
		g.itl[end] = append(g.itl[end], k.itlMs)
	}
	if !k.first.Seen() {
		return
	}
	if k.isl > 0 {
		g.out[g.at(k.first)].TokensIn += float64(k.isl)
	}
	if k.osl > 0 {
		from, to := float64(k.first-g.start)/g.ns, float64(k.end-g.start)/g.ns
		if to > from {
			g.tokens.add(from, to, float64(k.osl)/(to-from))
		} else {
			g.out[g.at(k.first)].TokensOut += float64(k.osl)
		}
	}
}

func (g *grid) list(totalS float64) []Slice {
	inFlight, tokens := g.inFlight.sums(), g.tokens.sums()
	for i := range g.out {
		s := &g.out[i]
		s.StartS = float64(i) * g.ns / 1e9
		s.EndS = min(s.StartS+g.ns/1e9, totalS)
		if d := (s.EndS - s.StartS) * 1e9 / g.ns; d > 0 {
			s.InFlight = max(inFlight[i]/d, 0)
		}
		s.TokensOut += max(tokens[i], 0)
		s.TTFTP50Ms, s.TTFTP90Ms = quantile(g.ttft[i], 50), quantile(g.ttft[i], 90)
		s.ITLP50Ms = quantile(g.itl[i], 50)
	}
	return g.out
}

func quantile(values []float64, q float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	v := percentile(values, q)
	return &v
}

// spread integrates weights over cells of length 1 in time independent of how
// many cells an interval covers.
type spread struct {
	part []float64 // what falls on partly covered cells
	full []float64 // changes of the weight on wholly covered cells
}

func newSpread(n int) spread { return spread{make([]float64, n+1), make([]float64, n+2)} }

func (s spread) add(from, to, weight float64) {
	last := len(s.part) - 1
	from, to = max(from, 0), min(to, float64(last))
	if to <= from {
		return
	}
	a, b := int(from), int(to)
	if a == b {
		s.part[a] += (to - from) * weight
		return
	}
	s.part[a] += (float64(a+1) - from) * weight
	s.part[b] += (to - float64(b)) * weight
	s.full[a+1] += weight
	s.full[b] -= weight
}

func (s spread) sums() []float64 {
	out := make([]float64, len(s.part))
	level := 0.0
	for i := range out {
		level += s.full[i]
		out[i] = s.part[i] + level
	}
	return out
}

func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }

func secondsBetween(from, to record.Stamp) float64 { return time.Duration(to - from).Seconds() }
