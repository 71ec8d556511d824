package scrape

import (
	"cmp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// label is one label of a series.
type label struct{ name, value string }

// maxSeries bounds the series of one family. A page of 64 engines with 16 ranks
// each has 1,024.
const maxSeries = 2048

// shared are the labels that do not tell logical engines apart: ranks that
// share one KV pool, and the process that happened to report
// (spec/inferencex.md §4.6).
var shared = []string{"tp_rank", "pp_rank", "ep_rank", "moe_ep_rank", "pid"}

// parts are the labels by which an engine splits a figure into the KV pools
// that it is made of. A series without one, beside series that differ from it
// by having one, adds those up.
var parts = []string{"dp_rank", "engine"}

// identity is what tells the series of one family apart: its labels without
// the shared and the empty ones (an empty label is no label), sorted.
func identity(m *dto.Metric) []label {
	labels := make([]label, 0, len(m.GetLabel()))
	for _, p := range m.GetLabel() {
		if p.GetValue() != "" && !slices.Contains(shared, p.GetName()) {
			labels = append(labels, label{p.GetName(), p.GetValue()})
		}
	}
	slices.SortFunc(labels, func(a, b label) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.value, b.value))
	})
	return labels
}

// valueOf is the value of a label, "" when the series does not have it.
func valueOf(labels []label, name string) string {
	for _, l := range labels {
		if l.name == name {
			return l.value
		}
	}
	return ""
}

// key makes labels comparable. The separators can't stand in valid text.
func key(labels []label) string {
	var b strings.Builder
	for _, l := range labels {
		b.WriteString(l.name)
		b.WriteByte(0xff)
		b.WriteString(l.value)
		b.WriteByte(0xfe)
	}
	return b.String()
}

// series is one figure of one logical engine.
type series struct {
	labels []label
	value  float64
}

// once counts series of equal identity once: ranks of one pool, or API servers
// in front of the same engine, each a moment apart. The largest is the latest
// for a counter, and the busiest rank's for a gauge.
func once(all []series) map[string]series {
	distinct := make(map[string]series, len(all))
	for _, s := range all {
		k := key(s.labels)
		if before, seen := distinct[k]; !seen || s.value > before.value {
			distinct[k] = s
		}
	}
	dropPriorities(distinct)
	for _, part := range parts {
		dropAggregates(distinct, part)
	}
	return distinct
}

// dropPriorities keeps the total where SGLang's priority scheduling shows a
// queue in whole (no priority) and by priority.
func dropPriorities(distinct map[string]series) {
	for k, s := range distinct {
		if valueOf(s.labels, "priority") == "" {
			continue
		}
		if _, whole := distinct[key(without(s.labels, "priority"))]; whole {
			delete(distinct, k)
		}
	}
}

// dropAggregates removes series without the label part that add up others
// which have it: all their labels are found there too.
func dropAggregates(distinct map[string]series, part string) {
	var divided, whole []string
	for k, s := range distinct {
		if valueOf(s.labels, part) != "" {
			divided = append(divided, k)
		} else {
			whole = append(whole, k)
		}
	}
	if len(divided) == 0 {
		return
	}
	for _, k := range whole {
		if slices.ContainsFunc(divided, func(d string) bool {
			return contains(distinct[d].labels, distinct[k].labels)
		}) {
			delete(distinct, k)
		}
	}
}

// contains reports whether all of the sorted labels part are among all.
func contains(all, part []label) bool {
	i := 0
	for _, l := range part {
		for i < len(all) && all[i] != l {
			i++
		}
		if i == len(all) {
			return false
		}
		i++
	}
	return true
}

func without(labels []label, name string) []label {
	return slices.DeleteFunc(slices.Clone(labels), func(l label) bool { return l.name == name })
}
