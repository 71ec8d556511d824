package table

import (
	"fmt"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/summary"
)

// throughput shows what was got through, and what was in flight meanwhile.
func throughput(p *page, d *result.Document) {
	p.section("Throughput")
	run := d.Metrics.Run
	n := 0
	if d.GPUs != nil {
		n = d.GPUs.Count
	}
	g := grid{head: []string{"Throughput", "per second", "in all"}}
	if n > 0 {
		g.head = []string{"Throughput", "per second", "per second and GPU", "in all"}
	}
	row := func(label, atLeast string, rate *float64, all string) {
		show := func(v float64) string { return atLeast + count(v) }
		cells := []string{label, opt(rate, show)}
		if n > 0 {
			cells = append(cells, opt(rate, func(v float64) string { return show(v / float64(n)) }))
		}
		g.rows = append(g.rows, append(cells, all))
	}
	add := func(label, atLeast string, rate, all *float64) {
		row(label, atLeast, rate, opt(all, func(v float64) string { return atLeast + count(v) }))
	}
	row("Requests", "", value(run, "request_throughput"), opt(value(run, "request_count"), exact))
	if all := value(run, "good_request_count"); all != nil {
		row("Requests within the SLOs", "", value(run, "goodput"), exact(*all))
	}
	in, out := value(run, "total_isl"), value(run, "total_osl")
	add("Output tokens", "", value(run, "output_token_throughput"), out)
	add("Input tokens", "", value(run, "input_token_throughput"), in)
	rate, all, atLeast := uncached(d)
	add("Uncached input tokens", atLeast, rate, all)
	add("Input and output tokens", "", value(run, "total_token_throughput"), sum(in, out))
	p.table(g)
	if atLeast != "" {
		p.note(fmt.Sprintf("≥: only %d of %d responses said how much came from the cache.", d.Cache.Usage.Requests, d.Requests.Profiling.OK))
	}
	if s := value(run, "benchmark_duration"); s != nil {
		p.fact("Measured over", exact(*s)+" s from the first request to the last token")
	}
	p.section("Load")
	inFlight(p, d)
}

func sum(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	v := *a + *b
	return &v
}

// uncached is what the engine had to compute of the prompts, by its own usage.
// Responses that don't say it are left out, and make the figure a lower bound.
func uncached(d *result.Document) (rate, all *float64, atLeast string) {
	u := d.Cache.Usage
	if u == nil || u.Unit != "tokens" {
		return nil, nil, ""
	}
	if u.Requests < d.Requests.Profiling.OK {
		atLeast = "≥ "
	}
	n := u.Total - u.Hit
	if s := value(d.Metrics.Run, "benchmark_duration"); s != nil && *s > 0 {
		v := n / *s
		rate = &v
	}
	return rate, &n, atLeast
}

func inFlight(p *page, d *result.Document) {
	trees, reqs := absent, absent
	if c := d.Settings.Concurrency; c > 0 && d.Mode == result.ModeFixed {
		reqs = whole(c)
	} else if c > 0 {
		trees = whole(c)
	}
	g := grid{head: []string{"Load", "mean", "p50", "p90", "peak", "asked"}}
	g.rows = append(g.rows, level("Requests in flight", d.Load.RequestsInFlight, reqs))
	if d.Mode != result.ModeFixed {
		g.rows = append(g.rows, level("Live trees", d.Load.LiveTrees, trees))
	}
	if c := d.Engine.Profiling; c != nil {
		for _, r := range []struct {
			label     string
			mean, max *float64
			show      func(float64) string
		}{
			{"Engine: running", c.RunningMean, c.RunningMax, count},
			{"Engine: waiting", c.WaitingMean, c.WaitingMax, count},
			{"Engine: KV cache in use", c.KVUsageMean, c.KVUsageMax, percent},
		} {
			if r.mean != nil || r.max != nil {
				g.rows = append(g.rows, []string{r.label, opt(r.mean, r.show), absent, absent, opt(r.max, r.show), absent})
			}
		}
	}
	p.table(g)
	if c := d.Engine.Profiling; c != nil && c.Preemptions != nil {
		p.fact("Preemptions in the engine", count(*c.Preemptions))
	}
	if c := d.Engine.Profiling; c != nil && c.AdmissionRejections != nil && *c.AdmissionRejections > 0 {
		p.fact("Turned away by the engine's full queue", count(*c.AdmissionRejections))
	}
	speculation(p, d.Engine.Profiling)
	client(p, &d.Client)
}

func level(label string, w *summary.Weighted, asked string) []string {
	if w == nil {
		return []string{label, absent, absent, absent, absent, asked}
	}
	return []string{label, count(w.Avg), count(w.P50), count(w.P90), count(w.Max), asked}
}

// client is the load generator's own health.
func client(p *page, c *result.Client) {
	var parts []string
	if s := c.CPUShare; s != nil {
		cores := "its cores"
		if c.Cores != nil {
			cores = digits(*c.Cores) + " cores"
		}
		parts = append(parts, fmt.Sprintf("CPU %s mean, %s peak of %s", percent(s.Avg), percent(s.Max), cores))
	}
	if s := c.ConnectionWait; s != nil {
		parts = append(parts, "connection wait p99 "+millis(s.P99))
	}
	if c.HeapMaxBytes != nil {
		parts = append(parts, "heap up to "+bytes(float64(*c.HeapMaxBytes)))
	}
	if c.IdleJumps != nil && c.IdleRemoved != nil {
		parts = append(parts, fmt.Sprintf("system idle cap fired %d times, %s skipped", *c.IdleJumps, seconds(*c.IdleRemoved)))
	}
	if c.TreeIdleJumps != nil && c.TreeIdleRemoved != nil {
		parts = append(parts, fmt.Sprintf("tree idle cap fired %d times, %s skipped", *c.TreeIdleJumps, seconds(*c.TreeIdleRemoved)))
	}
	p.fact("Client", parts...)
}
