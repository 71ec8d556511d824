package scrape

import (
	"slices"
	"strings"
)

// shape is what kind of number a quantity is.
type shape uint8

const (
	counter shape = iota
	gauge         // a plain number, not negative
	share         // 0..1; above 1.5 it is taken for percent (spec/inferencex.md §4.1)
)

// combine is how the figures of several logical engines become one.
type combine uint8

const (
	sum combine = iota
	mean
	highest
)

// rule says where one quantity stands on a page. Several rules of one name are
// tried in their order; the first that finds a series is taken, so that an
// engine which shows an old and a new spelling is not counted twice.
type rule struct {
	name   Name
	shape  shape
	over   combine
	family string // counters without _total; both spellings are looked for
	label  string // with values: only series in which this label has one of them
	values []string
	not    bool // with values: only series in which it has none of them
	each   bool // one quantity for each value of label, named by BySource
}

// takes reports whether a series with these labels belongs to the rule.
func (r *rule) takes(labels []label) bool {
	if len(r.values) == 0 {
		return true
	}
	return slices.Contains(r.values, valueOf(labels, r.label)) != r.not
}

// engines are the tables, in the order in which an engine is recognised
// (spec/inferencex.md §4.1): a page with names of both is SGLang's.
var engines = []struct {
	kind   Kind
	prefix string
	rules  []rule
}{
	{SGLang, "sglang:", sglangRules},
	{VLLM, "vllm:", vllmRules},
}

// wanted holds the names of every family a rule reads, as they stand on a page.
var wanted = func() map[string]bool {
	names := map[string]bool{cacheConfig: true}
	for _, e := range engines {
		for _, r := range e.rules {
			names[r.family] = true
			if r.shape == counter {
				names[r.family+totalSuffix] = true
			}
		}
	}
	return names
}()

const totalSuffix = "_total"

// rulesOf finds the engine that a page speaks of.
func rulesOf(families Families) (Kind, []rule) {
	for _, e := range engines {
		for name := range families {
			if strings.HasPrefix(name, e.prefix) {
				return e.kind, e.rules
			}
		}
	}
	return Unknown, nil
}
