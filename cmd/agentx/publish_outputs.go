package main

import (
	"path/filepath"
	"strconv"

	"github.com/org/agentx-action/pkg/publish/github"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/summary"
)

// answer is a result that was told of.
type answer struct {
	seen
	told    github.Content
	outcome github.Outcome
}

// outputs collects what a step says to the steps after it. Of several concurrencies
// verdict, submission-valid and trusted hold for all of them together; paths, addresses
// and figures are those of the one that the verdict comes from, the first of equals.
type outputs struct {
	standings []github.Standing
	of        answer // whose verdict is the gravest
	rules     bool   // there is a rule set
	invalid   bool
	mistrust  bool
}

func (o *outputs) add(a answer) {
	if o.of.Document == nil || github.Gravest(a.outcome.Standing, o.of.outcome.Standing) != o.of.outcome.Standing {
		o.of = a
	}
	o.standings = append(o.standings, a.outcome.Standing)
	v := &a.Document.Validity
	o.rules = o.rules || v.SubmissionValid != nil
	o.invalid = o.invalid || v.SubmissionValid != nil && !*v.SubmissionValid
	o.mistrust = o.mistrust || !v.Trusted
}

func (o *outputs) set(p *publication) {
	p.SetOutput("verdict", string(github.Gravest(o.standings...)))
	valid := ""
	if o.rules {
		valid = strconv.FormatBool(!o.invalid)
	}
	p.SetOutput("submission-valid", valid)
	p.SetOutput("trusted", strconv.FormatBool(!o.mistrust))
	a := &o.of
	if !p.untrusted { // those of strangers were rebuilt in a folder that is gone at the end
		p.SetOutput("result-path", p.relative(filepath.Join(a.Dir, result.FileResult)))
	}
	if a.told.Comparison != nil && !a.unkept && !p.untrusted {
		p.SetOutput("comparison-path", p.relative(filepath.Join(a.Dir, result.FileComparison)))
	}
	p.SetOutput("result-url", a.told.Provenance.ResultURL)
	p.SetOutput("comment-url", a.outcome.CommentURL)
	p.SetOutput("check-run-url", a.outcome.CheckRunURL)
	for _, h := range headline {
		if v, ok := h.of(a.Document); ok {
			p.SetOutput(h.name, strconv.FormatFloat(v, 'g', 6, 64))
		}
	}
}

// relative is a path as the steps that follow see it: their workspace has another
// name than the container's.
func (p *publication) relative(name string) string {
	if rel, err := filepath.Rel(absolute("."), absolute(name)); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name
}

// headline figures are outputs by themselves; one that was not measured is not set.
var headline = []struct {
	name, help string
	of         func(*result.Document) (float64, bool)
}{
	{"ttft-p50-ms", "Time to first token, median, in milliseconds.", ofRequests("time_to_first_token", func(s summary.Stats) float64 { return s.P50 })},
	{"ttft-p90-ms", "Time to first token, 90th percentile, in milliseconds.", ofRequests("time_to_first_token", func(s summary.Stats) float64 { return s.P90 })},
	{"itl-p50-ms", "Time between tokens, median, in milliseconds.", ofRequests("inter_token_latency", func(s summary.Stats) float64 { return s.P50 })},
	{"output-tokens-per-second", "Output throughput of the whole engine.", func(d *result.Document) (float64, bool) {
		v, ok := d.Metrics.Run["output_token_throughput"]
		return v.Value, ok
	}},
	{"error-rate", "Share of the measured requests that failed, 0 to 1.", func(d *result.Document) (float64, bool) {
		return d.Requests.Profiling.ErrorRate()
	}},
	{"cache-hit-rate", "Share of the prompt tokens that the engine took from its prefix cache, as it reports with each answer, 0 to 1.", func(d *result.Document) (float64, bool) {
		if d.Cache.Usage == nil {
			return 0, false
		}
		return d.Cache.Usage.Rate, true
	}},
}

func ofRequests(metric string, of func(summary.Stats) float64) func(*result.Document) (float64, bool) {
	return func(d *result.Document) (float64, bool) {
		s, ok := d.Metrics.Request[metric]
		return of(s), ok
	}
}
