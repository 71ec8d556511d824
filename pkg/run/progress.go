package run

import (
	"fmt"
	"io"
	"time"

	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result/record"
)

// progress tells how a run gets on: a line every so often, or one line that is
// redrawn where the output is a terminal.
type progress struct {
	w     io.Writer
	every time.Duration
	live  bool
	fixed bool // the load has no trees

	now    replay.Phase
	last   record.Stamp
	before record.Sample
	drawn  bool
}

func (p *progress) say(format string, args ...any) {
	if p.w == nil {
		return
	}
	p.wipe()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// wipe takes a redrawn line off before something else is written.
func (p *progress) wipe() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

var phaseNames = map[string]string{
	"primers":   "warm-up: filling the prefix cache with every lane's history",
	"pressure":  "warm-up: advancing every lane without delays",
	"warmup":    "warm-up: prompts of its own",
	"profiling": "measuring",
}

func (p *progress) phase(ph replay.Phase) {
	if ph.End.Seen() {
		return
	}
	p.now = ph
	text := phaseNames[ph.Name]
	if ph.Planned > 0 {
		text += fmt.Sprintf(" for %v", ph.Planned)
	}
	p.say("%s", text)
}

func (p *progress) sample(s *record.Sample) {
	every := p.every
	if p.live {
		every = 0
	}
	if p.w == nil || p.every == 0 || s.At.Add(0) < p.last.Add(every) {
		return
	}
	line := p.clock(s.At) + "  "
	if !p.fixed {
		line += fmt.Sprintf("%d trees, ", s.LiveTrees)
	}
	line += fmt.Sprintf("%d in flight", s.InFlight)
	if s.Phase == record.PhaseWarmup {
		line += fmt.Sprintf(", %d warm-up answers", s.Warmed)
	} else {
		line += fmt.Sprintf(", %d done, %d errors", s.Done, s.Errors)
	}
	if s.OldestMs > 10_000 {
		line += fmt.Sprintf(", the oldest waits %.0f s", s.OldestMs/1e3)
	}
	if d, ok := s.At.Sub(p.before.At); ok && s.Phase == record.PhaseProfiling && d > 0 && p.before.Phase == s.Phase {
		line += fmt.Sprintf(", %.0f in + %.0f out tokens/s",
			float64(s.TokensIn-p.before.TokensIn)/d.Seconds(), float64(s.TokensOut-p.before.TokensOut)/d.Seconds())
	}
	if p.now.Planned > 0 {
		if left := p.now.Start.Add(p.now.Planned) - s.At; left > 0 {
			line += fmt.Sprintf(", %v left", time.Duration(left).Round(time.Second))
		}
	}
	line += fmt.Sprintf(" | client: lag %.1f ms, connection wait %.1f ms", s.LagMaxMs, s.ConnMaxMs)
	if s.CPUShare != nil {
		line += fmt.Sprintf(", cpu %.0f %%", *s.CPUShare*100)
	}
	p.last, p.before = s.At, *s
	p.pass(line)
}

// pass writes a line that the next one may take the place of.
func (p *progress) pass(line string) {
	if p.live {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.drawn = true
		return
	}
	fmt.Fprintln(p.w, line)
}

// clock is the time since the run began.
func (p *progress) clock(at record.Stamp) string {
	d := time.Duration(at).Round(time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}
