package table

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/org/agentx-action/pkg/result"
)

// Result shows what a run was, what it measured, and whether it counts.
func Result(w io.Writer, doc *result.Document, o Options) error {
	return inParts(w, doc, o, append(measured(doc), verdict))
}

// measured are the parts that hold figures.
func measured(doc *result.Document) []func(*page, *result.Document) {
	if doc != nil && doc.Fixed != nil {
		return []func(*page, *result.Document){ran, fixedLength, power, cache, requests}
	}
	return []func(*page, *result.Document){ran, latency, throughput, power, cache, sessions, requests}
}

func inParts(w io.Writer, doc *result.Document, o Options, parts []func(*page, *result.Document)) error {
	if doc == nil {
		return errors.New("table: no result document to show")
	}
	p := &page{Options: o}
	for _, part := range parts {
		part(p, doc)
	}
	return p.send(w)
}

// nameWidth bounds names of others in a line.
const nameWidth = 60

// ran is the line of what ran.
func ran(p *page, d *result.Document) {
	p.section("Run")
	s := &d.Settings
	label := "Run"
	if d.Mode != "" {
		label = "Run (" + string(d.Mode) + ")"
	}
	seed := "seed " + opt(s.Seed, func(n int64) string { return strconv.FormatInt(n, 10) })
	if f := d.Fixed; f != nil {
		p.state(bold, label, model(d), engine(&d.Engine), gpus(d.GPUs), fmt.Sprintf("up to %d tokens in and %d out", f.ISL, f.OSL),
			plural(f.NumPrompts, "prompt"), lanes(d), seed)
		return
	}
	p.state(bold, label, model(d), engine(&d.Engine), gpus(d.GPUs), corpus(d.Corpus), lanes(d),
		opt(s.DurationS, exact)+" s asked", seed, ruleSet(&d.Scenario))
}

func ruleSet(s *result.Scenario) string {
	switch {
	case s.Name == "":
		return "no rule set"
	case s.Version == "":
		return "rule set " + plain(s.Name, nameWidth)
	}
	return "rule set " + plain(s.Name, nameWidth) + " version " + plain(s.Version, nameWidth)
}

func model(d *result.Document) string {
	name := d.Settings.Model
	if name == "" {
		name = d.Engine.Model
	}
	if name == "" {
		name = absent
	}
	return "model " + plain(name, nameWidth)
}

func engine(e *result.EngineFacts) string {
	name := plain(e.Name+" "+e.Version, nameWidth)
	if name == "" {
		name = absent
	}
	if e.URL != "" {
		name += " at " + plain(e.URL, nameWidth)
	}
	return "engine " + name
}

func corpus(c *result.Corpus) string {
	if c == nil {
		return "corpus " + absent
	}
	return fmt.Sprintf("corpus %s, %d of %d traces", plain(c.Name, nameWidth), c.Kept, c.Traces)
}

func lanes(d *result.Document) string {
	what := "lanes"
	if d.Mode == result.ModeFixed {
		what = "requests at once"
	}
	if d.Settings.Concurrency <= 0 {
		return what + " " + absent
	}
	return whole(d.Settings.Concurrency) + " " + what
}

func gpus(g *result.GPUs) string {
	if g == nil || g.Count <= 0 {
		return ""
	}
	return fmt.Sprintf("%d × %s", g.Count, plain(g.Model+" GPU", nameWidth))
}
