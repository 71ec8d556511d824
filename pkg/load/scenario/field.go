package scenario

import (
	"fmt"
	"strings"
)

// field reaches one setting by its name.
type field struct {
	get func(*Settings) (value any, given bool)
	set func(*Settings, any)
}

func at[T any](place func(*Settings) **T) field {
	return field{
		get: func(s *Settings) (any, bool) {
			p := *place(s)
			if p == nil {
				return nil, false
			}
			return *p, true
		},
		set: func(s *Settings, value any) {
			v := value.(T) // a rule with a value of another type is caught by the tests
			*place(s) = &v
		},
	}
}

// fields holds every setting a rule can speak of, by AIPerf's flag or
// environment name.
var fields = map[string]field{
	"streaming":                     at(func(s *Settings) **bool { return &s.Streaming }),
	"extra-inputs ignore_eos":       at(func(s *Settings) **bool { return &s.IgnoreEOS }),
	"use-server-token-count":        at(func(s *Settings) **bool { return &s.UseServerTokenCount }),
	"benchmark-duration":            at(func(s *Settings) **float64 { return &s.BenchmarkDurationS }),
	"benchmark-grace-period":        at(func(s *Settings) **float64 { return &s.BenchmarkGracePeriodS }),
	"random-seed":                   at(func(s *Settings) **uint64 { return &s.RandomSeed }),
	"trajectory-start-min-ratio":    at(func(s *Settings) **float64 { return &s.TrajectoryStartMinRatio }),
	"trajectory-start-max-ratio":    at(func(s *Settings) **float64 { return &s.TrajectoryStartMaxRatio }),
	"system-idle-gap-cap-seconds":   at(func(s *Settings) **float64 { return &s.SystemIdleGapCapS }),
	"trace-idle-gap-cap-seconds":    at(func(s *Settings) **float64 { return &s.TraceIdleGapCapS }),
	"warmup-requests-per-lane":      at(func(s *Settings) **int { return &s.WarmupRequestsPerLane }),
	"agentic-cache-warmup-duration": at(func(s *Settings) **float64 { return &s.AgenticCacheWarmupDurationS }),
	"warmup-grace-period":           at(func(s *Settings) **float64 { return &s.WarmupGracePeriodS }),
	"failed-request-threshold":      at(func(s *Settings) **float64 { return &s.FailedRequestThreshold }),
	"slice-duration":                at(func(s *Settings) **float64 { return &s.SliceDurationS }),
	"AIPERF_HTTP_TCP_USER_TIMEOUT":  at(func(s *Settings) **int { return &s.TCPUserTimeoutMS }),
	"cache-bust":                    at(func(s *Settings) **string { return &s.CacheBust }),
	"history":                       at(func(s *Settings) **string { return &s.History }),
	"lane-plan":                     at(func(s *Settings) **string { return &s.LanePlan }),
	"request-rate":                  at(func(s *Settings) **float64 { return &s.RequestRate }),
	"arrival-pattern":               at(func(s *Settings) **string { return &s.ArrivalPattern }),
	"user-centric-rate":             at(func(s *Settings) **float64 { return &s.UserCentricRate }),
	"fixed-schedule":                at(func(s *Settings) **bool { return &s.FixedSchedule }),
	"ignore-trace-delays":           at(func(s *Settings) **bool { return &s.IgnoreTraceDelays }),
	"synthesis-max-isl":             at(func(s *Settings) **int { return &s.SynthesisMaxISL }),
	"inter-turn-delay-cap-seconds":  at(func(s *Settings) **float64 { return &s.InterTurnDelayCapS }),
}

// number reads a numeric setting.
func number(s *Settings, setting string) (v float64, given bool) {
	switch n, _ := fields[setting].get(s); n := n.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}

// flag writes a setting as a user types it; an environment variable and a
// member of the extra inputs stand as they are.
func flag(setting string) string {
	if strings.HasPrefix(setting, "AIPERF_") {
		return setting
	}
	return "--" + setting
}

// same compares a value with a rule's; AIPerf takes - for _ in words.
func same(a, b any) bool {
	x, ok := a.(string)
	y, ok2 := b.(string)
	if ok && ok2 {
		return canonical(x) == canonical(y)
	}
	return a == b
}

// canonical undoes the spellings that AIPerf's command line takes for one
// name: foo-256-k and foo_256k.
func canonical(name string) string {
	return strings.Replace(strings.ReplaceAll(name, "-", "_"), "_256_k", "_256k", 1)
}

// spell brings the names that have several spellings into one.
func (s *Settings) spell() {
	if s.CacheBust != nil {
		target := canonical(*s.CacheBust)
		s.CacheBust = &target
	}
	if s.Dataset.Kind == DatasetPublic {
		s.Dataset.Name = canonical(s.Dataset.Name)
	}
}

func text(value any) string { return fmt.Sprint(value) }
