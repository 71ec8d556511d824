package table

import (
	"cmp"
	"maps"
	"slices"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/summary"
)

// cache puts the hit rates side by side: what could be had, and what was.
func cache(p *page, d *result.Document) {
	p.section("Prefix cache")
	c := &d.Cache
	var local, external *summary.Share
	if c.Engine != nil {
		local, external = c.Engine.Local, c.Engine.External
	}
	g := grid{head: []string{"Prefix cache", "hit rate", "hits", "of", "unit", "requests"}}
	if d.Mode != result.ModeFixed {
		g.rows = [][]string{
			hits("Theoretical, instant", c.TheoreticalInstant),
			hits("Theoretical, causal", c.TheoreticalCausal),
			hits("Ideal as played", c.IdealEnded),
			hits("Ideal, requests in flight too", c.IdealBegun),
		}
	}
	g.rows = append(g.rows, hits("Reported in usage", c.Usage), hits("Engine's counters, GPU", local))
	if external != nil {
		g.rows = append(g.rows, hits("Engine's counters, lower tiers", external))
	}
	p.table(g)
	if d.Mode == result.ModeFixed {
		p.note("The prompts share nothing: a hit would be a remnant of earlier ones.")
		return
	}
	p.note("Theoretical: what an endless cache could reuse by the recording; causal counts only what had been answered by then. " +
		"Ideal as played: the same for this very run; the engine's figures are to be held against it. An engine can be a little above " +
		"it: its blocks are smaller, message headers are cached too, and so is what requests in flight have begun.")
	if c.Gap != nil {
		p.fact("Reported against ideal as played", signed(100**c.Gap)+" percentage points, over the same requests")
	}
	if c.Engine != nil && len(c.Engine.BySource) > 0 {
		label := "Prompt tokens by source"
		if _, whole := c.Engine.BySource["local_compute"]; !whole {
			label = "Cached prompt tokens by source" // of an engine that counts no others
		}
		p.fact(label, sources(c.Engine.BySource)...)
	}
}

func hits(label string, s *summary.Share) []string {
	if s == nil {
		return []string{label, absent, absent, absent, absent, absent}
	}
	return []string{label, percent(s.Rate), count(s.Hit), count(s.Total), plain(s.Unit, 10), some(s.Requests)}
}

// some is a count of which 0 means that nobody counted.
func some(n int) string {
	if n <= 0 {
		return absent
	}
	return whole(n)
}

func signed(v float64) string {
	if v > 0 {
		return "+" + digits(v)
	}
	return digits(v)
}

// maxSources bounds the line; the names are the engine's.
const maxSources = 8

// sources lists shares by name, the largest first.
func sources(shares map[string]float64) []string {
	names := slices.SortedFunc(maps.Keys(shares), func(a, b string) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b))
	})
	var out []string
	for i, n := range names {
		if i == maxSources {
			out = append(out, "and "+whole(len(names)-i)+" more")
			break
		}
		out = append(out, plain(n, 30)+" "+percent(shares[n]))
	}
	return out
}
