package record

import (
	"strings"
	"testing"
)

func TestCheckAcceptsGood(t *testing.T) {
	r := full()
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	failed := Record{Asked: Asked{Phase: PhaseProfiling, Issued: 5}, Seen: Seen{Outcome: Failed, Sent: 6, Error: &Error{Code: 500}}}
	if err := failed.Check(); err != nil {
		t.Errorf("a failure without later times: %v", err)
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		break_ func(*Record)
		want   string
	}{
		"first token before sent":   {func(r *Record) { r.Seen.FirstToken = 5 }, "first_token_ns"},
		"end before last token":     {func(r *Record) { r.Seen.End = r.Seen.LastToken - 1 }, "end_ns"},
		"negative stamp":            {func(r *Record) { r.Asked.Issued = -4 }, "issued_ns"},
		"sent before issued":        {func(r *Record) { r.Asked.Issued = r.Seen.Sent + 1 }, "sent_ns"},
		"output before first token": {func(r *Record) { r.Seen.FirstOutput = r.Seen.FirstToken - 1 }, "first_output_ns"},
		"sent before ready":         {func(r *Record) { r.Asked.Ready = r.Seen.Sent + 1 }, "ready_ns"},
		"success without end":       {func(r *Record) { r.Seen.End = 0 }, "end_ns"},
		"success without token":     {func(r *Record) { r.Seen.LastToken = 0; r.Seen.ChunkGapsNs = nil }, "last_token_ns"},
		"success with error":        {func(r *Record) { r.Seen.Error = &Error{Type: "x"} }, "error"},
		"negative gap":              {func(r *Record) { r.Seen.ChunkGapsNs = []int64{-20e6, 120e6} }, "chunk_gaps_ns[0]"},
		"gaps that don't add up":    {func(r *Record) { r.Seen.ChunkGapsNs = []int64{20e6, 79e6} }, "add up"},
		"gaps beyond int64":         {func(r *Record) { r.Seen.ChunkGapsNs = []int64{1 << 62, 1 << 62} }, "add up"},
		"gaps without chunks":       {func(r *Record) { r.Seen.Chunks = 7 }, "7 chunks"},
		"more hits than blocks":     {func(r *Record) { r.Asked.HitCausal = 16 }, "16 hit blocks"},
		"negative usage":            {func(r *Record) { r.Seen.Usage.CachedTokens = ptr[int64](-1) }, "cached_tokens"},
		"negative phase":            {func(r *Record) { r.Seen.HTTP.SendNs = ptr[int64](-1) }, "send_ns"},
		"unknown outcome":           {func(r *Record) { r.Seen.Outcome = "fine" }, "fine"},
		"unknown phase":             {func(r *Record) { r.Asked.Phase = "" }, "phase"},
	} {
		r := full()
		c.break_(&r)
		err := r.Check()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Check = %v, want %q in it", name, err, c.want)
			continue
		}
		if r.Seen.Outcome != Failed || r.Seen.Error == nil || r.Seen.Error.Type != ErrorTypeClock {
			t.Errorf("%s: outcome %s, error %v; want a failed record", name, r.Seen.Outcome, r.Seen.Error)
		}
		if err := r.Check(); err == nil && c.want != "end_ns" && c.want != "last_token_ns" && c.want != "error" && c.want != "fine" {
			t.Errorf("%s: the contradiction is gone on the second look", name)
		}
	}
}
