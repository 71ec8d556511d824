package replay

import (
	"context"
	"math"

	"github.com/google/uuid"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// flight is a request on its way.
type flight struct {
	play   *play
	stream *stream
	turn   *tree.Turn
	record record.Record
	sent   sent
	text   *prompt.Prompt // set by the request's goroutine, read when it has landed
	seen   record.Seen
}

// issue sends a turn now. Nothing but the client has held it since ready.
func (r *run) issue(p *play, s *stream, ready record.Stamp, kind record.Kind) {
	turn := s.turn()
	if kind == record.KindPrimer {
		turn = s.Turns[s.next-1]
	}
	f := &flight{play: p, stream: s, turn: turn}
	f.record.Asked = r.ask(p, s, turn, kind)
	f.record.Asked.Ready = ready
	s.idle()
	s.state = flying
	r.inFlight++
	p.inFlight++
	p.sent++
	if kind == record.KindTurn {
		p.report.Requests++
		p.report.PeakLive = max(p.report.PeakLive, p.inFlight)
		if len(turn.Joins) > 0 {
			p.report.Joins++
		}
	}

	r.lastSend = r.clock.Now()
	f.record.Asked.Issued = r.lastSend
	r.aloft[f] = struct{}{}
	go r.fly(r.flights, f, f.record.Asked)
	r.launched = append(r.launched, f)
}

// fly sends a request. The prompt is made here and not by the scheduler, so that
// turns that are due together do not wait for each other.
func (r *run) fly(ctx context.Context, f *flight, asked record.Asked) {
	p := f.play
	text := r.work.Maker.Prompt(p.trace, p.plans[f.stream.Index], f.turn.Index, p.marker)
	asked.TextTokens, asked.MarkTokens = text.TextTokens(), text.MarkerTokens()
	asked.Messages, asked.Reset = text.Messages(), text.Reset
	f.text = text
	f.seen = r.sender.Send(ctx, &asked, text)
	select {
	case r.landed <- f:
	case <-r.gone:
	}
}

// account works out what an endless cache would have held for the requests just
// launched. It comes after the launches, since no turn should wait for it, and
// before the next answer, since that changes the result.
func (r *run) account() {
	for _, f := range r.launched {
		o := r.work.Maker.Outline(f.play.trace, f.play.plans[f.stream.Index], f.turn.Index)
		f.sent = pieces(f.play.trace.Blocks, o, r.cfg.Marker != prompt.MarkerNone)
		f.play.ideal.issue(f.sent, &f.record.Asked)
	}
	r.launched = r.launched[:0]
}

// ask fills in what the plan knows of a request.
func (r *run) ask(p *play, s *stream, turn *tree.Turn, kind record.Kind) record.Asked {
	rec := turn.Request
	a := record.Asked{
		Num: r.requests, Phase: record.PhaseWarmup, Kind: kind,
		TraceID: p.trace.ID, Lane: p.lane, Tree: p.num, Pass: p.pass,
		StreamID: s.ID, Turn: turn.Index, Join: len(turn.Joins) > 0,
		RequestID: uuid.NewString(), CorrelationID: s.correlation, RootCorrelationID: p.streams[0].correlation,
		Model: p.models[rec.Model], MaxTokens: 1, RecordedIn: rec.In, RecordedOut: rec.Out,
		BlockSize: p.trace.BlockSize, Blocks: rec.Whole,
		HitInstant: turn.Hit.Instant, HitCausal: turn.Hit.Causal,
		SkippedMs: p.skipped(r.agenda.skip).Milliseconds(),
		Due:       s.due, JoinSince: s.joinSince,
	}
	if s.Index != 0 {
		a.Depth = 1
		a.ParentCorrelationID = a.RootCorrelationID
	}
	if kind == record.KindTurn {
		a.Phase = record.PhaseProfiling
		a.MaxTokens = prompt.MaxTokens(turn, r.cfg.MaxOSL)
		a.DelayMs = int64(math.Round(1000 * r.delay(turn)))
	}
	r.requests++
	return a
}

// delay is how long after its predecessor's answer a turn is due, in seconds.
func (r *run) delay(t *tree.Turn) float64 {
	if t.Index == 0 {
		return 0
	}
	d := t.DelayS
	switch r.cfg.Delays {
	case DelaysThink:
		d = max(0, t.Request.ThinkTimeS.Or(0))
	case DelaysNone:
		d = 0
	}
	if limit := r.cfg.DelayCap.Seconds(); limit > 0 {
		d = min(d, limit)
	}
	return d
}

// childDelay is how long after its branch opens a stream is due, in seconds.
func (r *run) childDelay(b *tree.Branch, s *tree.Stream) float64 {
	if r.cfg.Delays == DelaysNone {
		return 0
	}
	return b.ChildDelayS(s)
}
