package run

import (
	"errors"
	"time"

	"github.com/org/agentx-action/pkg/load/fixed"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result"
)

// fixedFacts is everything about a baseline that its records don't say.
func (s *session) fixedFacts(out *fixed.Outcome, cfg fixed.Config, proof cacheProof, runErr error) *result.Facts {
	seed, warmups := int64(cfg.Seed), max(cfg.Warmups, 0)
	f := &result.Facts{
		Program: program(), RunID: s.runID, Mode: result.ModeFixed,
		OriginAt: s.clock.Origin().Round(0), StartedAt: s.started.Round(0), EndedAt: time.Now().Round(0),
		Command: s.Command,
		Settings: result.Settings{
			Concurrency: cfg.Concurrency, Seed: &seed, Counting: s.Counting, Model: cfg.Model,
			ExtraInputs: s.extraInputs(), SLOs: s.SLOs, SliceS: s.Settings.SliceDurationS,
			FixedISL: &cfg.Shape.ISL, FixedOSL: &cfg.Shape.OSL, FixedRangeRatio: &cfg.RangeRatio,
			FixedPrompts: &cfg.Prompts, FixedWarmups: &warmups, FixedEndpoint: string(cfg.Endpoint),
			Other: map[string]string{"cache_reset": proof.String()},
		},
		Phases: phases(&replay.Outcome{Phases: out.Phases}), Client: machine(), Engine: s.engineFacts(),
	}
	s.scraper.telemetry.fill(f, s.keeper)
	f.Engine.PrefixCaching = proof.caching
	if f.Engine.ColdStart == nil {
		f.Engine.ColdStart = &result.ColdStart{}
	}
	f.Engine.ColdStart.Reset = proof.proven
	if s.probes.Known {
		// What the engine adds came off the text, and counts once a request.
		constant, message, drift := float64(s.probes.Overhead.Prompt), 0.0, float64(s.probes.DriftTokens)
		f.Calibration = &result.Calibration{Source: "probes", TemplateConstant: &constant, TemplatePerMessage: &message, ProbeDrift: &drift}
	}
	var died *engineDied
	switch {
	case errors.As(runErr, &died):
		f.Outcome = result.Outcome{Cancelled: true, CancelledBy: "engine_died", Error: runErr.Error()}
	case errors.Is(runErr, ErrCancelled):
		f.Outcome = result.Outcome{Cancelled: true, CancelledBy: "user"}
	case runErr != nil:
		f.Outcome = result.Outcome{Cancelled: !profiled(&replay.Outcome{Phases: out.Phases}), Error: runErr.Error()}
	}
	return f
}
