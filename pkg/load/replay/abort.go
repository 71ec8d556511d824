package replay

import (
	"fmt"

	"github.com/org/agentx-action/pkg/result/record"
)

// tally counts profiling requests for the live abort and the progress, and the
// answers of warm-up for the progress alone.
type tally struct {
	warmed                         int
	ok, failed, overflow, censored int
	tokensIn, tokensOut            int64
}

// count adds a profiling request to the tally.
func (r *run) count(rec *record.Record) {
	if rec.Asked.Phase != record.PhaseProfiling {
		r.tally.warmed++
		return
	}
	switch rec.Seen.Outcome {
	case record.OK:
		r.tally.ok++
	case record.Overflow:
		r.tally.overflow++
	case record.Censored:
		r.tally.censored++
	default:
		r.tally.failed++
	}
	if u := rec.Seen.Usage; u != nil {
		if u.PromptTokens != nil {
			r.tally.tokensIn += *u.PromptTokens
		}
		if u.CompletionTokens != nil {
			r.tally.tokensOut += *u.CompletionTokens
		}
	}
}

// checkThreshold ends a run in which too many requests fail (spec/replay.md §4.10).
func (r *run) checkThreshold() error {
	t := &r.tally
	total := t.ok + t.failed + t.overflow
	if r.cfg.FailedThreshold < 0 || r.phase != profiling || total < max(r.cfg.Concurrency, 10) {
		return nil
	}
	if float64(t.failed)/float64(total) > r.cfg.FailedThreshold {
		return &AbortError{Failed: t.failed, Total: total, Threshold: r.cfg.FailedThreshold}
	}
	return nil
}

// AbortError says that the run ended itself because too many requests failed.
type AbortError struct {
	Failed, Total int
	Threshold     float64
}

func (e *AbortError) Error() string {
	return fmt.Sprintf("failed_request_threshold: %d of %d requests failed, more than %g of them; look at the engine's log and at error_summary", e.Failed, e.Total, e.Threshold)
}
