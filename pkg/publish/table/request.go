package table

import (
	"fmt"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/summary"
)

// requests shows what became of every request, and what was counted of it.
func requests(p *page, d *result.Document) {
	p.section("Requests")
	q := &d.Requests
	p.table(grid{
		head: []string{"Requests", "all", "ok", "errors", "overflow", "censored", "error rate"},
		rows: [][]string{outcomes("Measured", q.Profiling), outcomes("Warm-up, in no figure", q.Warmup)},
	})
	p.note("Overflow: refused because the prompt outgrew the engine's context. Censored: cut off by the end of the run. Neither is an error.")
	var parts []string
	for _, c := range []struct {
		n    int
		text string
	}{
		{q.Primers, "primers, warm-up requests that only fill the cache"},
		{q.Retries, "repeated connection attempts"},
		{q.Broken, "records in contradiction, counted as failed"},
	} {
		if c.n > 0 {
			parts = append(parts, c.text+": "+whole(c.n))
		}
	}
	p.fact("Of these", parts...)
	failures(p, d.Errors)
	tokens(p, d)
}

func outcomes(label string, o summary.Outcomes) []string {
	rate := absent
	if v, ok := o.ErrorRate(); ok {
		rate = percent(v)
	}
	return []string{label, whole(o.Total()), whole(o.OK), whole(o.Errors), whole(o.Overflow), whole(o.Censored), rate}
}

// maxErrors is how many kinds of errors are shown.
const maxErrors = 5

func failures(p *page, groups []summary.ErrorGroup) {
	if len(groups) == 0 {
		return
	}
	p.section("Errors")
	g := grid{head: []string{"Error", "First one's words", "status", "count"}, text: 2, max: 56}
	rest := 0
	for i, e := range groups {
		if i >= maxErrors {
			rest += e.Count
			continue
		}
		g.rows = append(g.rows, []string{plain(e.Type, 24), e.Message, some(e.Code), whole(e.Count)})
	}
	p.table(g)
	if n := len(groups) - maxErrors; n > 0 {
		p.fact("More errors", fmt.Sprintf("%d, of %d other kinds; see result.json", rest, n))
	}
}

// tokens shows whether the engine got and gave the lengths that were planned.
func tokens(p *page, d *result.Document) {
	p.section("Tokens as planned")
	t := &d.Tokens
	p.table(grid{
		head: []string{"Tokens", "mean", "p50", "p90", "p99", "max", "n"},
		rows: [][]string{
			extent("Prompt, counted − planned", t.Drift, count),
			extent("The same, of the prompt", t.DriftShare, percent),
		},
	})
	ok := d.Requests.Profiling.OK
	if ok == 0 {
		return
	}
	off := "output length not judged"
	if t.OutputJudged > 0 {
		off = fmt.Sprintf("output length off in %d of %d", t.OutputMismatch, t.OutputJudged)
	}
	p.fact("Responses", off,
		fmt.Sprintf("no token counts in %d of %d", t.MissingUsage, ok),
		fmt.Sprintf("no cached tokens in %d of %d", t.MissingCached, ok),
		fmt.Sprintf("fewer tokens than chunks in %d of %d", t.BelowChunks, ok))
}
