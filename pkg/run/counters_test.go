package run

import (
	"testing"

	"github.com/org/agentx-action/pkg/engine/scrape"
	"github.com/org/agentx-action/pkg/result"
)

func TestCountedOfTiersAndDrafts(t *testing.T) {
	var c result.Counters
	counted(&c, scrape.Delta{Counters: map[scrape.Name]float64{
		scrape.CachedBySource("device"): 896, scrape.CachedBySource("host"): 128, scrape.BySource("local_compute"): 1000,
		scrape.SpecDrafts: 120, scrape.SpecDraftTokens: 440, scrape.SpecAcceptedTokens: 432, scrape.AdmissionRejections: 3,
	}})
	if c.CachedPromptTokensBySource["device"] != 896 || c.CachedPromptTokensBySource["host"] != 128 || c.PromptTokensBySource["local_compute"] != 1000 || *c.AdmissionRejections != 3 {
		t.Errorf("%+v", c)
	}
	if *c.SpecAcceptanceLength != 4.6 || *c.SpecAcceptanceRate != 432.0/440 {
		t.Errorf("acceptance %v tokens, %v", *c.SpecAcceptanceLength, *c.SpecAcceptanceRate)
	}
	// No draft yet: nothing to divide by, and no figure.
	c = result.Counters{}
	counted(&c, scrape.Delta{Counters: map[scrape.Name]float64{scrape.SpecDrafts: 0, scrape.SpecDraftTokens: 0, scrape.SpecAcceptedTokens: 0}})
	if c.SpecAcceptanceLength != nil || c.SpecAcceptanceRate != nil || c.SpecDrafts == nil {
		t.Errorf("%+v", c)
	}
}
