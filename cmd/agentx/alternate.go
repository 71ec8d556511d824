package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/org/agentx-action/pkg/engine/deploy/docker"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/run"
)

// baseFlags say what the engine under test is held against in the same job. One of
// them makes a run alternate: head, base, base, head.
type baseFlags struct {
	BaseImage         string   `help:"Image of the engine that the one of --image is held against in the same job, in the order head, base, base, head." placeholder:"IMAGE" group:"Base" config:"substitute"`
	BaseEngineCommand []string `sep:"none" help:"The same with --engine-command." placeholder:"WORD" group:"Base" config:"substitute"`
	BaseURL           string   `name:"base-url" help:"The same with --url." placeholder:"URL" group:"Base" config:"substitute"`
	Rounds            int      `default:"1" help:"How often head, base, base, head are played." placeholder:"N" group:"Base"`
}

// alternates reports whether there are two sides.
func (b *baseFlags) alternates() bool {
	return b.BaseImage != "" || len(b.BaseEngineCommand) > 0 || b.BaseURL != ""
}

// side is one of the two engines of a job that alternates.
type side struct {
	name  string // head or base
	where string // for a person
	flag  string // that named it
	plan  enginePlan
}

// Names of the sides.
const (
	sideHead = "head"
	sideBase = "base"
)

// sides are both, the head first. They have all settings but one in common.
func (r *runCmd) sides(in planInput) (both [2]side, err error) {
	var errs errorList
	given := 0
	for _, on := range []bool{r.BaseImage != "", len(r.BaseEngineCommand) > 0, r.BaseURL != ""} {
		if on {
			given++
		}
	}
	switch {
	case given > 1:
		errs.add(errors.New("--base-image, --base-engine-command, --base-url: give one of them"))
	case r.BaseImage != "" && r.Image == "":
		errs.add(errors.New("--base-image: needs --image, the engine under test"))
	case len(r.BaseEngineCommand) > 0 && len(r.EngineCommand) == 0:
		errs.add(errors.New("--base-engine-command: needs --engine-command, the engine under test"))
	case r.BaseURL != "" && len(r.URL) == 0:
		errs.add(errors.New("--base-url: needs --url, the engine under test"))
	}
	if len(r.CompareWith) > 0 {
		errs.add(errors.New("--compare-with: it compares its own two sides; use agentx compare afterwards"))
	}
	if err := errs.join(); err != nil {
		return both, &run.UsageError{Err: err}
	}
	for i, name := range []string{sideHead, sideBase} {
		s, flags := &both[i], r.engineFlags
		if name == sideBase {
			switch {
			case r.BaseImage != "":
				flags.Image = r.BaseImage
			case len(r.BaseEngineCommand) > 0:
				flags.EngineCommand = r.BaseEngineCommand
			default:
				in.URL = []string{r.BaseURL}
			}
		}
		s.name = name
		s.plan, err = flags.plan(in)
		errs.add(err)
		switch s.plan.Driver {
		case driverURL:
			s.where, s.flag = withoutSecrets(in.URL[0]), "--"+name+"-url"
			s.plan.URL = in.URL[0]
		case driverDocker:
			s.where, s.flag = s.plan.Image, "--"+name+"-image"
		default:
			s.where, s.flag = s.plan.commandLine(), "--engine-command"
		}
	}
	if err := errs.join(); err != nil {
		return both, &run.UsageError{Err: err}
	}
	return both, nil
}

// alternate measures both sides in turn, and compares them. The order ABBA cancels
// a drift of the machine, and a lane plan of each lane's own keeps what is played
// independent of speed (decisions.md 19, spec/pitfalls.md "Baseline and noise").
// What was measured is in all, the comparison in the head's first.
func (r *runCmd) alternate(c *console, o run.Options, both [2]side) (all []seen, err error) {
	if len(o.Settings.Concurrency) > 1 {
		return nil, &run.UsageError{Err: errors.New("--concurrency: a job that alternates has one; make a job of each")}
	}
	if o.Settings.LanePlan == nil {
		plan := string(replay.LanePlanSeeded)
		o.Settings.LanePlan = &plan
	}
	fill(&o.Settings.RandomSeed, 42)
	// A floor that does not fit shows before the hours are spent.
	b, err := newBase(nil, r.Floor, "", nil)
	if err != nil {
		return nil, err
	}
	if len(r.BaseEngineCommand) > 0 {
		b.options.Axis = append(slices.Clone(compare.DefaultAxis), "engine_args") // the commands are what is compared
	}
	o.Before = b.fits
	if err := r.ready(c, o, both); err != nil {
		return nil, err
	}
	fmt.Fprintln(c.err, atLeast(&o, 4*r.Rounds))
	dirs := map[string][]string{}
	var first *result.Document
	for i, n := range abba(r.Rounds) {
		s := both[n]
		one := o
		if err := r.point(c, &one, s, len(dirs[s.name]) == 0); err != nil {
			return all, err
		}
		if s.name == sideBase && r.BaseSHA != "" {
			one.Other = maps.Clone(o.Other)
			one.Other[otherBase] = r.BaseSHA
		}
		one.Dir = filepath.Join(r.OutputArtifactDir, fmt.Sprintf("%d-%s", i+1, s.name))
		fmt.Fprintf(c.err, "%s: %s into %s\n", s.name, s.where, one.Dir)
		if first != nil {
			one.Before = func(known *result.Identity) error { return like(first, known, &b.options) }
		}
		report, err := run.Replay(c.ctx, one)
		if report.Document != nil {
			one := seen{Report: report, base: s.name == sideBase, repeat: len(dirs[s.name]) > 0}
			if !one.base {
				one.gate = r.gate(&report.Document.Validity)
			}
			all = append(all, one)
		}
		if err != nil {
			return all, fmt.Errorf("%s, part %d: %w", s.name, i+1, err)
		}
		if first == nil {
			first = report.Document
		}
		dirs[s.name] = append(dirs[s.name], one.Dir)
	}
	comparison, err := r.judge(c, dirs[sideHead], dirs[sideBase], b.options)
	all[0].comparison = comparison
	if comparison != nil {
		all[0].gate = errors.Join(compared(comparison, r.failsOn(onRegression)), all[0].gate)
	}
	return all, err
}

// point has a run's options use a side's engine. A new one is brought up for every
// part; one at an address has its cache reset, so that its second visit finds it as
// the first did. A baseline follows the first part of a side alone.
func (r *runCmd) point(c *console, o *run.Options, s side, first bool) (err error) {
	if !first {
		o.Fixed = run.FixedOptions{}
	}
	if s.plan.Driver == driverURL {
		o.Client.URL, o.ResetCache = s.plan.URL, true
		return nil
	}
	o.Deploy, err = s.plan.deployment(c, r.FreshEngine)
	return err
}

// ready finds out, before the first part is measured, what can be known of both
// sides: that engines at addresses answer and serve one model, that images are there.
func (r *runCmd) ready(c *console, o run.Options, both [2]side) error {
	var errs errorList
	models := map[string]string{}
	for _, s := range both {
		one := o
		if err := r.point(c, &one, s, true); err != nil {
			return err
		}
		switch driver := one.Deploy.Driver.(type) {
		case *docker.Driver:
			if err := driver.Prepare(c.ctx); err != nil {
				errs.add(fmt.Errorf("nothing was run: the %s's image (%s): %w", s.name, s.flag, err))
			}
		case nil:
			model, err := run.Probe(c.ctx, one)
			if err != nil {
				errs.add(fmt.Errorf("nothing was run: the %s's engine (%s) does not answer as it must: %w", s.name, s.flag, err))
			}
			models[s.name] = model
		}
	}
	if err := errs.join(); err != nil {
		return err
	}
	if models[sideHead] != models[sideBase] {
		return &run.UsageError{Err: fmt.Errorf("nothing was run: the head's engine serves the model %q, the base's %q: give one that both serve with --model", models[sideHead], models[sideBase])}
	}
	return nil
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

// abba is the order of sides, 0 the head: each round is a mirror image of itself.
func abba(rounds int) []int { return slices.Repeat([]int{0, 1, 1, 0}, rounds) }

// judge compares the sides, and writes what changed into the head's first folder
// and at the top.
func (r *runCmd) judge(c *console, heads, bases []string, o compare.Options) (*compare.Comparison, error) {
	var s sides
	var err error
	if s.head, err = loadRuns(heads); err != nil {
		return nil, err
	}
	if s.base, err = loadRuns(bases); err != nil {
		return nil, err
	}
	if err := s.fixed(nil, nil, &o); err != nil {
		return nil, err
	}
	comparison, err := s.compare(c.out, o, filepath.Join(r.OutputArtifactDir, result.FileComparison))
	if comparison == nil || err != nil {
		return comparison, err
	}
	if _, err := writeComparison(comparison, heads[0], ""); err != nil {
		return comparison, err
	}
	if doc, err := result.Read(heads[0]); err == nil && comparison.Verdict != compare.Refused {
		c.report(heads[0], doc, bases[0])
	}
	return comparison, nil
}
