package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/publish/table"
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
	head, err := loadRuns(heads)
	if err != nil {
		return err
	}
	base, err := loadRuns(bases)
	if err != nil {
		return err
	}
	o := compare.Options{CreatedAt: time.Now()}
	if a.Floor != "" {
		if o.Floor, err = compare.LoadFloor(a.Floor); err != nil {
			return err
		}
	}
	comparison, err := compare.Compare(head, base, o)
	if err != nil {
		return err
	}
	if err := table.Comparison(c.out, comparison, table.Options{Color: inColor(c.out)}); err != nil {
		return err
	}
	name, err := writeComparison(comparison, heads[0], filepath.Join(a.OutputArtifactDir, fileComparison))
	if err != nil {
		return errors.Join(err, outcome(comparison, a.FailOn == "regression"))
	}
	fmt.Fprintf(c.out, "\ncomparison: %s\n", name)
	return outcome(comparison, a.FailOn == "regression")
}
