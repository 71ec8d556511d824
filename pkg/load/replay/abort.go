package replay

import "fmt"

// checkThreshold ends a run in which too many requests fail (spec/replay.md §4.10).
func (r *run) checkThreshold() error {
	t := &r.tally
	total := t.OK + t.Failed + t.Overflow
	if r.cfg.FailedThreshold < 0 || r.phase != profiling || total < max(r.cfg.Concurrency, 10) {
		return nil
	}
	if float64(t.Failed)/float64(total) > r.cfg.FailedThreshold {
		return &AbortError{Failed: t.Failed, Total: total, Threshold: r.cfg.FailedThreshold}
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
