package validity

// Severity says what a finding does to the stamps.
type Severity string

// Severities. Invalid takes submission_valid away, Untrusted takes trusted away.
const (
	Invalid   Severity = "invalid"
	Untrusted Severity = "untrusted"
	Note      Severity = "note"
)

// Codes of the findings.
const (
	// AIPerf's reasons; the codes are its words.
	UnsafeOverride       = "unsafe_override"
	ContextOverflowRate  = "context_overflow_rate_exceeded"
	RunCancelled         = "run_cancelled"
	InsufficientCoverage = "insufficient_profile_metric_coverage"

	// Ours.
	NothingMeasured       = "nothing_measured"
	ErrorRate             = "error_rate"
	BrokenRecords         = "broken_records"
	RecordsCut            = "records_cut"
	ScheduleLag           = "schedule_lag"
	ConnectionWait        = "connection_wait"
	ClientCPU             = "client_cpu"
	LiveTrees             = "live_trees"
	OutputLength          = "output_length"
	CutCorpus             = "cut_corpus"
	StartWindow           = "start_window"
	CacheNotCold          = "cache_not_cold"
	CacheStartUnknown     = "cache_start_unknown"
	ForeignGPUUsers       = "foreign_gpu_users"
	CorpusBeyondContext   = "corpus_beyond_context"
	ReplicasUnrouted      = "replicas_without_session_routing"
	TokenDrift            = "token_drift"
	MissingUsage          = "missing_usage"
	MissingCachedTokens   = "missing_cached_tokens"
	UsageBelowChunks      = "usage_below_chunks"
	EngineCountersDiffer  = "engine_counters_differ"
	EngineCountersUnknown = "engine_counters_unknown"
	FewRoots              = "few_effective_roots"
)

// Finding is one judgement.
type Finding struct {
	// Stable name of the kind of finding.
	Code string `json:"code"`
	// invalid takes submission_valid away, untrusted takes trusted away, a note
	// changes neither.
	Severity Severity `json:"severity" jsonschema:"enum=invalid,enum=untrusted,enum=note"`
	// What was found, in Unit.
	Figure *float64 `json:"figure,omitzero"`
	// What it was held against, in Unit.
	Limit *float64 `json:"limit,omitzero"`
	// Unit of figure and limit.
	Unit string `json:"unit,omitzero"`
	// More about the cause, for machines; e.g. who cancelled.
	Detail string `json:"detail,omitzero"`
	// What it means and what to do.
	Text string `json:"text"`
}

// Verdict is the judgement of a run.
type Verdict struct {
	// As AIPerf stamps it; absent when no rule set was asked for, because then
	// there is nothing to be valid for.
	SubmissionValid *bool `json:"submission_valid,omitzero"`
	// Codes of the invalid findings; AIPerf's words.
	SubmissionInvalidReasons []string `json:"submission_invalid_reasons"`
	// No finding says that the figures may mislead.
	Trusted bool `json:"trusted"`
	// All findings, the gravest first.
	Findings []Finding `json:"findings"`
}

// Valid reports whether the run counts as a submission under its rule set.
func (v *Verdict) Valid() bool { return v.SubmissionValid != nil && *v.SubmissionValid }

// derive makes the stamps from the findings.
func derive(findings []Finding, ruleSet bool) Verdict {
	v := Verdict{SubmissionInvalidReasons: []string{}, Trusted: true, Findings: []Finding{}}
	for _, s := range []Severity{Invalid, Untrusted, Note} {
		for _, f := range findings {
			if f.Severity != s {
				continue
			}
			v.Findings = append(v.Findings, f)
			switch s {
			case Invalid:
				v.SubmissionInvalidReasons = append(v.SubmissionInvalidReasons, f.Code)
				v.Trusted = v.Trusted && f.Code == UnsafeOverride
			case Untrusted:
				v.Trusted = false
			}
		}
	}
	if ruleSet {
		valid := len(v.SubmissionInvalidReasons) == 0
		v.SubmissionValid = &valid
	}
	return v
}
