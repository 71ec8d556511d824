package main

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/run"
)

// abCmd measures two engines in one job, in alternating order.
type abCmd struct {
	HeadURL string `name:"head-url" required:"" help:"Address of the engine under test." placeholder:"URL"`
	BaseURL string `name:"base-url" required:"" help:"Address of the engine it is held against." placeholder:"URL"`
	Rounds  int    `default:"1" help:"How often head, base, base, head are played."`
	replayFlags
}

// Run is called by the parser. The order ABBA cancels a drift of the machine, and
// a lane plan of each lane's own keeps what is played independent of speed
// (decisions.md 19, spec/pitfalls.md "Baseline and noise").
func (a *abCmd) Run(c *console) error {
	if a.Rounds < 1 {
		return &run.UsageError{Err: fmt.Errorf("--rounds %d: must be at least 1", a.Rounds)}
	}
	if len(a.URL) > 0 {
		return &run.UsageError{Err: errors.New("--url: give --head-url and --base-url")}
	}
	if len(a.CompareWith) > 0 {
		return &run.UsageError{Err: errors.New("--compare-with: ab compares its own two sides; use agentx compare afterwards")}
	}
	if a.LanePlan == nil {
		plan := string(replay.LanePlanSeeded)
		a.LanePlan = &plan
	}
	o, err := a.options(c)
	if err != nil {
		return err
	}
	fill(&o.Settings.RandomSeed, 42)
	o.ResetCache = true // the second visit to an engine must find it as the first did
	// A floor that does not fit shows before the hours are spent.
	b, err := newBase(nil, a.Floor, "")
	if err != nil {
		return err
	}
	o.Before = b.fits
	if err := a.probe(c, o); err != nil {
		return err
	}
	dirs := map[string][]string{}
	var first *result.Document
	for i, side := range abba(a.Rounds) {
		one := o
		one.Client.URL = a.address(side)
		one.Dir = filepath.Join(a.OutputArtifactDir, fmt.Sprintf("%d-%s", i+1, side))
		fmt.Fprintf(c.err, "%s: %s into %s\n", side, withoutSecrets(one.Client.URL), one.Dir)
		if first != nil {
			one.Before = func(known *result.Identity) error { return like(first, known, &b.options) }
		}
		report, err := run.Replay(c.ctx, one)
		if err != nil {
			return fmt.Errorf("%s, part %d: %w", side, i+1, err)
		}
		if first == nil {
			first = report.Document
		}
		dirs[side] = append(dirs[side], one.Dir)
	}
	return a.judge(c, dirs["head"], dirs["base"], b.options)
}

// like refuses to measure a part that the comparison would refuse for what is known
// of it.
func like(first *result.Document, known *result.Identity, o *compare.Options) error {
	w := &compare.Wanted{Identity: *known, Ahead: true, MayDiffer: o.MayDiffer()}
	if keys := w.Differs(&first.Identity); len(keys) > 0 {
		return &run.UsageError{Err: fmt.Errorf("the two sides cannot be compared: %s", differences(keys, &first.Identity, known))}
	}
	return nil
}

// withoutSecrets keeps of an address what says where an engine is.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func (a *abCmd) address(side string) string {
	if side == "head" {
		return a.HeadURL
	}
	return a.BaseURL
}

// probe finds out whether both engines are there, and serve one model, before the
// first of them is measured.
func (a *abCmd) probe(c *console, o run.Options) error {
	var errs errorList
	models := map[string]string{}
	for _, side := range []string{"head", "base"} {
		one := o
		one.Client.URL = a.address(side)
		model, err := run.Probe(c.ctx, one)
		if err != nil {
			errs.add(fmt.Errorf("nothing was run: the %s's engine (--%s-url) does not answer as it must: %w", side, side, err))
		}
		models[side] = model
	}
	if err := errs.join(); err != nil {
		return err
	}
	if models["head"] != models["base"] {
		return &run.UsageError{Err: fmt.Errorf("nothing was run: the head's engine serves the model %q, the base's %q: give one that both serve with --model", models["head"], models["base"])}
	}
	return nil
}

// abba is the order of sides: each round is a mirror image of itself.
func abba(rounds int) (order []string) {
	for range rounds {
		order = append(order, "head", "base", "base", "head")
	}
	return order
}

func (a *abCmd) judge(c *console, heads, bases []string, o compare.Options) error {
	var s sides
	var err error
	if s.head, err = loadRuns(heads); err != nil {
		return err
	}
	if s.base, err = loadRuns(bases); err != nil {
		return err
	}
	comparison, err := s.compare(c.out, o, filepath.Join(a.OutputArtifactDir, result.FileComparison))
	if comparison == nil {
		return err
	}
	return errors.Join(err, compared(comparison, a.FailOn == "regression"))
}
