package run

import (
	"context"

	"github.com/org/agentx-action/pkg/load/calibrate"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// askBefore hands the identity to Before, as far as it is known.
func (s *session) askBefore() error {
	if s.Before == nil {
		return nil
	}
	facts := result.Facts{
		MeasurementVersion: result.MeasurementVersion, Mode: result.ModeAgentic,
		Scenario: s.scenarioFacts(), Settings: s.settingsFacts(), Corpus: s.corpusFacts(), Engine: s.engineFacts(),
	}
	known := facts.Identity()
	return s.Before(&known)
}

// model is the name that requests ask for; empty before the engine was asked.
func (s *session) model() string {
	if len(s.Models) == 0 {
		return ""
	}
	return s.Models[0]
}

// Probe asks an engine whether it is there, waiting for it as long as a run would,
// and returns the model that a run would ask for. An engine that lists no models is
// sent a tiny request. Its error names the address and what to do.
func Probe(ctx context.Context, o Options) (model string, err error) {
	s := &session{Options: o, clock: record.NewClock(), say: &progress{w: o.Progress}}
	err = s.dial(ctx)
	if s.client != nil {
		defer s.client.Close()
	}
	if err == nil && s.served == nil {
		_, err = calibrate.Single(ctx, s.client, s.model(), 0, true)
	}
	return s.model(), err
}
