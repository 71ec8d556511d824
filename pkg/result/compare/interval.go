package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// estimate is a statistic with the spread that resampling its units gives it.
type estimate struct {
	statistic
	change
	se    float64   // standard deviation over resamples, corrected for the number of units
	draws []float64 // of diff, sorted; −∞ and +∞ where a quantile fell on a failure; without NaN
	lost  float64   // share of resamples that said nothing, 0..1
}

// bootstrap resamples units with replacement, both sides together. The same
// seed gives the same figures, whatever the order of the records.
func bootstrap(s statistic, resamples int, seed uint64) estimate {
	e := estimate{statistic: s, se: math.NaN()}
	once := make([]int32, s.units)
	for i := range once {
		once[i] = 1
	}
	e.change = s.of(once)
	if s.units == 0 || math.IsNaN(e.diff) {
		return e
	}
	random := rand.New(rand.NewPCG(seed, 0x626f6f74))
	drawn := make([]int32, s.units)
	e.draws = make([]float64, 0, resamples)
	for range resamples {
		clear(drawn)
		for range drawn {
			drawn[random.IntN(len(drawn))]++
		}
		if d := s.of(drawn).diff; !math.IsNaN(d) {
			e.draws = append(e.draws, d)
		}
	}
	slices.Sort(e.draws)
	e.lost = 1 - float64(len(e.draws))/float64(resamples)
	e.se = spread(e.draws)
	if n := s.n; n > 1 {
		e.se *= math.Sqrt(n / (n - 1)) // the bootstrap divides by n
	}
	return e
}

// spread is the standard deviation of the finite ones among sorted values.
func spread(sorted []float64) float64 {
	n, sum, squares := 0.0, 0.0, 0.0
	for _, v := range sorted {
		if !math.IsInf(v, 0) {
			n++
			sum += v
		}
	}
	if n < 2 {
		return math.NaN()
	}
	for _, v := range sorted {
		if !math.IsInf(v, 0) {
			squares += (v - sum/n) * (v - sum/n)
		}
	}
	return math.Sqrt(squares / (n - 1))
}

// noise is what repeats of the same thing show.
type noise struct {
	sd        float64 // of one run's figure: of its logarithm, or of the rate itself
	resampled float64 // spread over resamples of the difference of two repeats
	df        float64 // degrees of freedom of both; 0 is unknown
	scale     float64 // √(1/n1 + 1/n2) of the runs compared
}

// interval is the change with its confidence interval, on the scale of diff.
type interval struct {
	low, high  float64 // may be infinite
	se         float64
	detectable float64 // found in 8 of 10 comparisons
}

// interval combines the run-to-run noise with the spread over units. What the
// repeats vary by has the noise inside a run in it, and so has the spread over
// units; it is counted once, as the lesser of what the repeats vary by and what
// resampling them gives. So the interval is never narrower than either alone. The
// degrees of freedom are Welch's and Satterthwaite's. Where resamples fall on
// failures more often than the interval may miss, that end is open.
func (e *estimate) interval(n noise, alpha float64) interval {
	within, between := e.se*e.se, 0.0
	if e.absolute {
		within = max(within, e.binomial())
	}
	df := max(e.n-1, 1)
	if n.df > 0 {
		between = n.sd * n.scale * n.sd * n.scale
		twice := min(between, n.resampled*n.resampled*n.scale*n.scale/2)
		within = max(within-twice, 0)
	}
	if all := within + between; between > 0 {
		df = all * all / (within*within/df + between*between/n.df)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}
	se := math.Sqrt(within + between)
	half := t.Quantile(1-alpha/2) * se
	i := interval{low: e.diff - half, high: e.diff + half, se: se, detectable: half + t.Quantile(0.8)*se}
	if infinite(e.draws, 1) > alpha/2 {
		i.high = math.Inf(1)
	}
	if infinite(e.draws, -1) > alpha/2 {
		i.low = math.Inf(-1)
	}
	return i
}

// infinite is the share of values that are infinite, in that direction.
func infinite(draws []float64, sign int) float64 {
	n := 0.0
	for _, d := range draws {
		if math.IsInf(d, sign) {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return n / float64(len(draws))
}

// binomial is the least variance of a difference of two rates: it keeps an
// interval open where nobody failed (Agresti's and Caffo's added observations).
func (e *estimate) binomial() float64 {
	n := float64(e.samples)
	p := ((e.head+e.base)/2*n + 1) / (n + 2)
	return 2 * p * (1 - p) / (n + 2)
}
