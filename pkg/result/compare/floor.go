package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/org/agentx-action/pkg/result"
)

// FloorKind and FloorSchemaVersion mark the document of a noise floor.
const (
	FloorKind          = "agentx.floor"
	FloorSchemaVersion = "1.0"
)

// Floor is how much repeats of the same thing differ on one pool of runners
// (decisions.md 24).
type Floor struct {
	// Says which file this is.
	Kind string `json:"kind" jsonschema:"enum=agentx.floor"`
	// Version of this layout.
	SchemaVersion string `json:"schema_version"`
	// When it was made; absent when not said.
	CreatedAt time.Time `json:"created_at,omitzero"`
	// Pool of runners that it speaks of.
	Pool string `json:"pool"`
	// What was repeated; later comparisons must be of the same but for the axis under test.
	Identity result.Identity `json:"identity"`
	// The repeats.
	Runs []RunRef `json:"runs"`
	// Run-to-run spread by figure: the keys of the gated family, and of the layers.
	Figures map[string]FloorFigure `json:"figures"`
}

// FloorFigure is the spread of one figure from run to run.
type FloorFigure struct {
	// Standard deviation of one run's figure: of its natural logarithm, or of the
	// rate itself when absolute.
	SD float64 `json:"sd" jsonschema:"minimum=0"`
	// Spread that resampling the root traces gives the difference of two repeats,
	// root mean square: how much of a later comparison's spread is noise that SD
	// has in it already.
	Resampled float64 `json:"resampled" jsonschema:"minimum=0"`
	// Degrees of freedom that it was measured with: repeats − 1.
	DF int `json:"df" jsonschema:"minimum=1"`
	// The figure is a rate that may be 0.
	Absolute bool `json:"absolute,omitzero"`
}

// minRepeats is how many repeats a floor takes: with two, a t interval is
// wider than any change worth finding.
const minRepeats = 3

// NewFloor measures the run-to-run noise of repeats of the same thing. It
// refuses fewer than three runs, runs of different identity, one that is given
// twice, and runs in which every request failed.
func NewFloor(runs []*Run, pool string) (*Floor, error) {
	if len(runs) < minRepeats {
		return nil, fmt.Errorf("a noise floor takes at least %d repeats; there are %d", minRepeats, len(runs))
	}
	f := &Floor{Kind: FloorKind, SchemaVersion: FloorSchemaVersion, Pool: pool, Identity: runs[0].Doc.Identity, Figures: map[string]FloorFigure{}}
	seen := map[string]string{}
	for _, r := range runs {
		if diff := f.Identity.Diff(&r.Doc.Identity); len(diff) > 0 {
			return nil, fmt.Errorf("%s is no repeat of %s: %s differs", r.Where, runs[0].Where, diff[0])
		}
		if other, twice := seen[r.Doc.RunID]; twice {
			return nil, fmt.Errorf("%s and %s are the same run (%s)", other, r.Where, r.Doc.RunID)
		}
		if r.allFailed() {
			return nil, fmt.Errorf("%s: every request failed", r.Where)
		}
		seen[r.Doc.RunID] = r.Where
		f.Runs = append(f.Runs, r.ref())
	}
	for key, n := range repeats(runs) {
		f.Figures[key] = FloorFigure{SD: n.sd, Resampled: n.resampled, DF: int(n.df), Absolute: key == keyErrors}
	}
	if len(f.Figures) == 0 {
		return nil, errors.New("the repeats have no request in common that all of them completed")
	}
	return f, nil
}

// repeats is the noise among runs of the same thing, each two of them paired as
// two sides would be.
func repeats(runs []*Run) map[string]noise {
	return amongRepeats(len(runs), func(i, j int) *pairs { return pair(runs[i:i+1], runs[j:j+1]) })
}

// amongRepeats compares every two of n repeats as of pairs them. Half the mean
// square of their differences is the variance of one run, which for plain figures
// is the sample variance.
func amongRepeats(n int, of func(i, j int) *pairs) map[string]noise {
	sums, counts := map[string]float64{}, map[string]float64{}
	spreads, resampled := map[string]float64{}, map[string]float64{}
	for i := range n {
		for j := range i {
			for _, s := range of(i, j).statistics() {
				e := estimate{statistic: s, change: s.of(slices.Repeat([]int32{1}, s.units))}
				if j == i-1 { // neighbours will do: the spread is about the same for all
					e = bootstrap(s, floorResamples, 1)
				}
				if math.IsNaN(e.diff) || math.IsInf(e.diff, 0) {
					continue
				}
				sums[s.key] += e.diff * e.diff
				counts[s.key]++
				if e.se > 0 {
					spreads[s.key] += e.se * e.se
					resampled[s.key]++
				}
			}
		}
	}
	out := map[string]noise{}
	for key, seen := range counts {
		if seen == float64(n*(n-1))/2 { // a figure that not every pair has tells nothing sure
			out[key] = noise{sd: math.Sqrt(sums[key] / seen / 2), df: float64(n - 1), resampled: math.Sqrt(spreads[key] / max(resampled[key], 1))}
		}
	}
	return out
}

// floorResamples is enough for a variance that is averaged over repeats.
const floorResamples = 200

// noises is the noise of every statistic: the floor's, the repeats' own, or both
// pooled by their degrees of freedom. Without either, df is 0. The repeats are
// held against each other on the very requests that the comparison is made on: the
// fewer those are, the more one run's figure varies.
func (p *pairs) noises(f *Floor) map[string]noise {
	out := map[string]noise{}
	add := func(key string, x noise) {
		n := out[key]
		if df := n.df + x.df; df > 0 {
			pooled := func(a, b float64) float64 { return math.Sqrt((a*a*n.df + b*b*x.df) / df) }
			out[key] = noise{sd: pooled(n.sd, x.sd), resampled: pooled(n.resampled, x.resampled), df: df}
		}
	}
	if f != nil {
		for key, x := range f.Figures {
			add(key, noise{sd: x.SD, resampled: x.Resampled, df: float64(x.DF)})
		}
	}
	for key, n := range amongRepeats(len(p.head), p.headRepeats) {
		add(key, n)
	}
	for key, n := range amongRepeats(len(p.base), p.baseRepeats) {
		add(key, n)
	}
	scale := math.Sqrt(1/float64(len(p.head)) + 1/float64(len(p.base)))
	for key, n := range out {
		n.scale = scale
		out[key] = n
	}
	return out
}
