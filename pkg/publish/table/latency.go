package table

import (
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
)

var latencyHead = []string{"Latency", "mean", "p50", "p90", "p95", "p99", "n"}

// perToken is request latency over output tokens.
const perToken = "e2e_latency_per_output_token"

// latency shows how long requests took, and the lengths that explain it.
func latency(p *page, d *result.Document) {
	p.section("Latency")
	m := d.Metrics.Request
	g := grid{head: latencyHead}
	add := func(label, key string, show func(float64) string) {
		g.rows = append(g.rows, spread(label, at(m, key), show))
		if a, ok := d.Metrics.Adjusted["adj_"+key]; ok && a.Failed > 0 {
			g.rows = append(g.rows, adjusted(label, a, show))
		}
	}
	add("TTFT", "time_to_first_token", millis)
	add("ITL (per token)", "inter_token_latency", millis)
	add("Gap between chunks", record.ChunkGaps, millis)
	add("E2E latency", "request_latency", millis)
	add("E2E per output token", perToken, millis)
	g.rows = append(g.rows,
		inverse("Interactivity, 1/ITL (tok/s)", at(m, "inter_token_latency")),
		inverse("Interactivity, E2E (tok/s)", at(m, perToken)),
		spread("Join wait", d.Sessions.JoinWait, millis),
		spread("Schedule lag (client)", d.Client.ScheduleLag, millis))
	add("Input length, ISL (tokens)", "input_sequence_length", count)
	add("Output length, OSL (tokens)", "output_sequence_length", count)
	p.table(g)
	if at(m, "inter_token_latency") != nil || at(m, perToken) != nil {
		p.note("Interactivity: tokens a second as one user sees them; its p90 is that of the slow requests, as InferenceX counts.")
	}
	if len(d.Metrics.Adjusted) > 0 {
		p.note("Failed as ∞: the same percentiles with every failed request counted as infinitely slow.")
	}
	if p.HTTP {
		phases(p, m)
	}
}

// phases shows the parts of the HTTP exchange.
func phases(p *page, m map[string]summary.Stats) {
	p.section("HTTP phases")
	g := grid{head: append([]string{"HTTP phase"}, latencyHead[1:]...)}
	kilobytes := func(v float64) string { return bytes(v * 1e3) }
	for _, r := range []struct {
		label, key string
		show       func(float64) string
	}{
		{"Wait for a connection", "http_req_blocked", millis},
		{"DNS lookup", "http_req_dns_lookup", millis},
		{"Connecting, TLS included", "http_req_connecting", millis},
		{"Sending", "http_req_sending", millis},
		{"Waiting for the first byte", "http_req_waiting", millis},
		{"Receiving", "http_req_receiving", millis},
		{"All, connection included", "http_req_total", millis},
		{"Sent", "http_req_data_sent", kilobytes},
		{"Received", "http_req_data_received", kilobytes},
	} {
		g.rows = append(g.rows, spread(r.label, at(m, r.key), r.show))
	}
	p.table(g)
	if s := at(m, "http_req_connection_reused"); s != nil {
		p.fact("Connections used again", percent(s.Avg)+" of requests")
	}
}

// spread is a row of a distribution.
func spread(label string, s *summary.Stats, show func(float64) string) []string {
	if s == nil {
		return empty(label)
	}
	if s.Approximate {
		label += ", about"
	}
	return []string{label, show(s.Avg), show(s.P50), show(s.P90), show(s.P95), show(s.P99), whole(s.Count)}
}

// adjusted is a row with failures as infinite; there is no mean of that.
func adjusted(label string, a summary.Adjusted, show func(float64) string) []string {
	out := []string{label + ", failed as ∞", "∞"}
	for _, v := range []*float64{a.P50, a.P90, a.P95, a.P99} {
		if v == nil {
			out = append(out, "∞")
		} else {
			out = append(out, show(*v))
		}
	}
	return append(out, whole(a.Count))
}

// inverse is tokens per second where s is ms per token: each percentile turned over,
// so that p90 is the slow tail (spec/replay.md §7.11).
func inverse(label string, s *summary.Stats) []string {
	return spread(label, s, func(v float64) string {
		if v <= 0 {
			return absent
		}
		return digits(1000 / v)
	})
}

func empty(label string) []string {
	return []string{label, absent, absent, absent, absent, absent, absent}
}
