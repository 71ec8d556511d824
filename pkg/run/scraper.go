package run

import (
	"context"

	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result"
)

const fileSeries = "engine_metrics.jsonl"

type scraper struct{}

func newScraper(context.Context, *session) *scraper      { return &scraper{} }
func (s *scraper) mark(replay.Phase)                     {}
func (s *scraper) stop()                                 {}
func (s *scraper) fill(f *result.EngineFacts, own int64) {}
