package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result"
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
	dirs := map[string][]string{}
	for i, side := range abba(a.Rounds) {
		one := o
		one.Client.URL = map[string]string{"head": a.HeadURL, "base": a.BaseURL}[side]
		one.Dir = filepath.Join(a.OutputArtifactDir, fmt.Sprintf("%d-%s", i+1, side))
		fmt.Fprintf(c.err, "%s: %s into %s\n", side, one.Client.URL, one.Dir)
		if _, err := run.Replay(c.ctx, one); err != nil {
			return fmt.Errorf("%s, part %d: %w", side, i+1, err)
		}
		dirs[side] = append(dirs[side], one.Dir)
	}
	return a.judge(c, dirs["head"], dirs["base"])
}

// abba is the order of sides: each round is a mirror image of itself.
func abba(rounds int) (order []string) {
	for range rounds {
		order = append(order, "head", "base", "base", "head")
	}
	return order
}

func (a *abCmd) judge(c *console, heads, bases []string) error {
	o, err := withFloor(a.Floor)
	if err != nil {
		return err
	}
	comparison, err := compareSides(c.out, heads, bases, o, filepath.Join(a.OutputArtifactDir, result.FileComparison))
	if comparison == nil {
		return err
	}
	return errors.Join(err, outcome(comparison, a.FailOn == "regression"))
}
