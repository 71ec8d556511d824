package main

import (
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/run"
)

// runCmd is the whole job.
type runCmd struct {
	configFlags
	replayFlags
	baselineFlags
	simFlags
	engineFlags
	baseFlags
	publishFlags

	noDemo bool
}

// Run is called by the parser.
func (r *runCmd) Run(c *console, parsed *kong.Context) error {
	var w *workplace
	if r.Store != "" {
		var err error
		if w, err = newWorkplace(actions.New(actions.WithWriter(c.commands))); err != nil {
			return err
		}
	}
	all, err := r.job(c, parsed, w)
	if r.Store == "" || r.DryRun || c.ctx.Err() != nil {
		return ended(all, err)
	}
	return r.keep(c, w, all, err)
}

// keep uploads what was measured, and tells nobody else: the pull request is told by
// the Action, or by agentx publish.
func (r *runCmd) keep(c *console, w *workplace, all []seen, err error) error {
	w.learnHead(c, &r.publishFlags)
	p := r.publication(c, w)
	var errs errorList
	for _, s := range all {
		_, refused := p.upload(s)
		errs.add(refused)
	}
	return unlessFailed(ended(all, err), errs.join())
}

// job does everything but publishing. What was measured is in all, whatever failed
// after it. w is where results are published from; nil where none is.
func (r *runCmd) job(c *console, parsed *kong.Context, w *workplace) (all []seen, err error) {
	o, wrong := r.options(c)
	if err := errors.Join(wrong, r.beforehand(c.err)); err != nil {
		return nil, err
	}
	in := planInput{URL: r.URL, Models: r.ModelNames, APIKey: r.APIKey, Lanes: r.lanes(o.Settings), Sim: r.simFlags, Masked: r.substituted("engine-env")}
	plan, err := r.plan(in)
	if err != nil {
		return nil, &run.UsageError{Err: err}
	}
	var both [2]side
	if r.alternates() {
		if both, err = r.sides(in); err != nil {
			return nil, err
		}
	}
	if err := r.checkBaseSHA(); err != nil {
		return nil, &run.UsageError{Err: err}
	}
	if r.BaseSHA != "" && !r.alternates() {
		fmt.Fprintln(c.err, "note: without effect: --base-sha, since no base is measured in this job")
	}
	if r.file != nil {
		fmt.Fprintf(c.err, "settings from %s\n", r.file.Name)
	}
	if err := r.engine(c, plan, &o); err != nil {
		return nil, err
	}
	if len(o.Source.Paths) == 0 && o.Source.Public == "" {
		o.Source.Sample = true
	}
	if o.Scenario == "" && !r.noDemo {
		r.demo(&o.Settings)
		o.Demo = true
	}
	if o.Fixed, err = r.baseline(o.Demo); err != nil {
		return nil, err
	}
	if r.DryRun {
		err := r.dryRun(c.out, parsed, o, plan, both)
		if err == nil {
			explainCorpus(c.out, o.Source)
		}
		return nil, err
	}
	if err := plan.present(); err != nil {
		return nil, err
	}
	r.askStore(c, w)
	o.Effective = r.record(parsed, o, plan, both)
	o.Other = map[string]string{otherCell: r.cell()}
	if r.alternates() {
		return r.alternate(c, o, both)
	}
	return r.measure(c, o, r.baseShelf(c))
}

// lanes is the largest concurrency that a run will have.
func (r *runCmd) lanes(s scenario.Settings) int {
	lanes := 1
	if len(s.Concurrency) == 0 && r.Scenario == "" && !r.noDemo {
		lanes = demoLanes
	}
	for _, n := range s.Concurrency {
		lanes = max(lanes, n)
	}
	return lanes
}

// engine settles which engine is measured.
func (r *runCmd) engine(c *console, p enginePlan, o *run.Options) (err error) {
	if o.Deploy, err = p.deployment(c, r.FreshEngine); err != nil || p.Driver != driverSim {
		return err
	}
	cfg, err := r.simFlags.config()
	o.Sim = &cfg
	return err
}

// demo makes a run without a rule set short: it shows everything and counts for nothing.
func (r *runCmd) demo(s *scenario.Settings) {
	if len(s.Concurrency) == 0 {
		s.Concurrency = []int{demoLanes}
	}
	fill(&s.BenchmarkDurationS, demoSeconds)
	fill(&s.BenchmarkGracePeriodS, 5)
	fill(&s.TraceIdleGapCapS, demoIdleCapS)
	fill(&s.RandomSeed, 42)
	fill(&s.WarmupRequestsPerLane, 1)
}

// The argument-free run: long enough for trees to end and lanes to recycle.
const (
	demoLanes    = 4
	demoSeconds  = 25
	demoIdleCapS = 1
)

func fill[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}
