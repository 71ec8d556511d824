package scrape

import (
	"fmt"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/org/agentx-action/pkg/result/record"
)

// Snapshot is what an engine said at one moment, its logical engines together.
type Snapshot struct {
	At       record.Stamp     `json:"at_ns,omitempty"`
	Engine   Kind             `json:"engine,omitempty"`
	Counters map[Name]float64 `json:"counters,omitempty"` // since the engine's start
	Gauges   map[Name]float64 `json:"gauges,omitempty"`
	// Missing says, for every quantity that this engine could show and did not,
	// why. A name stands here, in Counters or in Gauges; one the engine has no
	// family for stands nowhere.
	Missing map[Name]string `json:"missing,omitempty"`

	// The counters by series, since only one of several engines may restart.
	series map[Name]map[string]float64
	// What is missing though the page has its family: no figure, not none yet.
	unread map[Name]bool
	// Logical engines that KVUsageMean is the mean of.
	pools int
}

// Read makes a snapshot of a page, or of the pages of several API servers in
// front of the same engines, which repeat each other (the stamp is the first
// page's). Engines that are not the same are read apart.
func Read(pages ...*Page) Snapshot {
	pages = slices.DeleteFunc(slices.Clone(pages), func(p *Page) bool { return p == nil })
	families := join(pages)
	kind, rules := rulesOf(families)
	s := Snapshot{
		Engine:   kind,
		Counters: map[Name]float64{}, Gauges: map[Name]float64{}, Missing: map[Name]string{},
		series: map[Name]map[string]float64{}, unread: map[Name]bool{},
	}
	if len(pages) > 0 {
		s.At = pages[0].At
	}
	for i := range rules {
		s.apply(&rules[i], families[familyName(families, &rules[i])])
	}
	if capacity := capacities[kind]; capacity != nil {
		if tokens, why := capacity(families); why != "" {
			s.miss(KVCapacity, why)
		} else {
			s.Gauges[KVCapacity] = tokens
		}
	}
	for n := range s.Missing {
		if s.has(n) { // an older spelling had it
			delete(s.Missing, n)
			delete(s.unread, n)
		}
	}
	return s
}

// capacities read the size of the KV pool where no family is it, and say why
// there is none.
var capacities = map[Kind]func(Families) (tokens float64, why string){
	VLLM:        vllmCapacity,
	TensorRTLLM: tensorRTLLMCapacity,
}

// miss notes why a quantity is missing; the first reason stays.
func (s *Snapshot) miss(n Name, why string) {
	if _, said := s.Missing[n]; !said {
		s.Missing[n] = why
	}
}

// join puts the series of several pages into one set of families.
func join(pages []*Page) Families {
	if len(pages) == 1 {
		return pages[0].Families
	}
	all := Families{}
	for _, p := range pages {
		for name, f := range p.Families {
			if before, ok := all[name]; ok {
				f = &dto.MetricFamily{Name: f.Name, Type: f.Type,
					Metric: slices.Concat(before.GetMetric(), f.GetMetric())}
			}
			all[name] = f
		}
	}
	return all
}

// familyName is the spelling under which a page has a rule's family.
func familyName(families Families, r *rule) string {
	if r.shape == counter {
		if _, ok := families[r.family+totalSuffix]; ok {
			return r.family + totalSuffix
		}
	}
	return r.family
}

func (s *Snapshot) has(n Name) bool {
	_, counted := s.Counters[n]
	_, gauged := s.Gauges[n]
	return counted || gauged
}

// apply fills in what a rule finds in its family, unless an earlier rule of the
// same name found it.
func (s *Snapshot) apply(r *rule, f *dto.MetricFamily) {
	if s.has(r.name) {
		return
	}
	if len(f.GetMetric()) == 0 {
		s.miss(r.name, "no series of "+r.family)
		return
	}
	if why := unusable(r, f); why != "" {
		s.miss(r.name, why)
		s.unread[r.name] = true
		return
	}
	parts := split(r, f)
	if len(parts) == 0 {
		s.miss(r.name, "no series of "+r.family+" with the "+r.label+" it needs")
	}
	for name, all := range parts {
		s.take(name, r, all)
	}
}

// take puts the series of one quantity together, if each is a figure: a sum
// without one of them would be wrong.
func (s *Snapshot) take(name Name, r *rule, all []series) {
	found := once(all)
	for _, one := range found {
		if why := r.implausible(one.value); why != "" {
			s.miss(name, why)
			s.unread[name] = true
			return
		}
	}
	s.set(name, r, found)
}

// split sorts a rule's series by the quantity that they belong to.
func split(r *rule, f *dto.MetricFamily) map[Name][]series {
	parts := map[Name][]series{}
	for _, m := range f.GetMetric() {
		labels := identity(m)
		if !r.takes(labels) {
			continue
		}
		name := r.name
		if r.each {
			value := valueOf(labels, r.label)
			if value == "" {
				continue
			}
			name += Name(value)
		}
		parts[name] = append(parts[name], series{labels, r.number(m)})
	}
	return parts
}

const (
	maxLabels  = 64 // of a series
	maxSources = 64 // quantities that the values of a label can make
)

// unusable says why a family can't serve a rule, "" when it can.
func unusable(r *rule, f *dto.MetricFamily) string {
	if n := len(f.GetMetric()); n > maxSeries {
		return fmt.Sprintf("%s has %d series; at most %d are read", r.family, n, maxSeries)
	}
	want := dto.MetricType_GAUGE
	switch {
	case r.shape == counter:
		want = dto.MetricType_COUNTER
	case r.shape.histogram():
		want = dto.MetricType_HISTOGRAM
	}
	if f.GetType() != want && (f.GetType() != dto.MetricType_UNTYPED || r.shape.histogram()) {
		return fmt.Sprintf("%s is a %s, not a %s", r.family, strings.ToLower(f.GetType().String()), strings.ToLower(want.String()))
	}
	sources := map[string]bool{}
	for _, m := range f.GetMetric() {
		if n := len(m.GetLabel()); n > maxLabels {
			return fmt.Sprintf("%s has a series of %d labels; at most %d are read", r.family, n, maxLabels)
		}
		if r.each {
			sources[valueOf(identity(m), r.label)] = true
		}
	}
	if len(sources) > maxSources {
		return fmt.Sprintf("%s has more than %d values of %s", r.family, maxSources, r.label)
	}
	return ""
}

// number is a sample's value; NaN when it is of a type without one.
func (r *rule) number(m *dto.Metric) float64 {
	switch {
	case m.Histogram != nil && r.shape == observed:
		return m.GetHistogram().GetSampleSum()
	case m.Histogram != nil && r.shape == observations:
		return float64(m.GetHistogram().GetSampleCount())
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	case m.Untyped != nil:
		return m.GetUntyped().GetValue()
	}
	return math.NaN()
}

// implausible says why a value can't be one of a rule's, "" when it can.
func (r *rule) implausible(v float64) string {
	const (
		largest = 1 << 60 // sums of 2,048 such stay finite and far from it
		percent = 150     // with room for a pool that is overbooked
	)
	if math.IsNaN(v) || v < 0 || v > largest || r.shape == share && v > percent {
		return fmt.Sprintf("%s has a series with the value %v", r.family, v)
	}
	return ""
}

// set puts the figures of the engines together.
func (s *Snapshot) set(name Name, r *rule, found map[string]series) {
	values := make(map[string]float64, len(found))
	total, most := 0.0, 0.0
	for k, one := range found {
		v := one.value
		if r.shape == share && v > 1.5 {
			v /= 100
		}
		values[k] = v
		total += v
		most = max(most, v)
	}
	if name == KVUsageMean {
		s.pools = len(found)
	}
	switch r.over {
	case mean:
		total /= float64(len(found))
	case highest:
		total = most
	}
	if r.shape.counts() {
		s.Counters[name], s.series[name] = total, values
	} else {
		s.Gauges[name] = total
	}
}
