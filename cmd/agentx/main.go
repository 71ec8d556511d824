// Command agentx measures how an LLM engine behaves under coding agents: it
// replays recorded agentic sessions against an OpenAI-compatible server, or
// against an embedded simulated engine, and says what was seen and whether it
// counts.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/run"
	"github.com/org/agentx-action/pkg/workload/corpus"
)

func main() { os.Exit(Main(arguments(os.Args), os.Stdin, os.Stdout, os.Stderr)) }

// arguments are those that were typed. GitHub gives the post step of a container those
// of the main step, so that only its name tells them apart.
func arguments(argv []string) []string {
	if filepath.Base(argv[0]) == "agentx-post" {
		return []string{verbAction, "post"}
	}
	return argv[1:]
}

// Exit codes (DESIGN.md §4).
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitInvalid = 3
	exitWorse   = 4
	exitRefused = 5
)

// console is where a verb writes: results to out, everything else to err.
type console struct {
	ctx      context.Context
	out, err io.Writer
	command  []string // as typed, secrets removed
	will     *will

	// Of a step of GitHub's, see muzzle.
	commands io.Writer
	secrets  deploy.Secrets
	close    func()
}

type grammar struct {
	Run      runCmd      `cmd:"" help:"The whole job: engine, replay, result. Without arguments it replays the bundled sample on the embedded engine."`
	Replay   replayCmd   `cmd:"" aliases:"profile" help:"Replay recorded sessions against a server. Takes the flags of 'aiperf profile'."`
	Fixed    fixedCmd    `cmd:"" help:"The fixed-length baseline: random prompts of one shape at a fixed concurrency. Without --url on the embedded engine."`
	Sim      simCmd      `cmd:"" help:"Serve the embedded engine."`
	Corpus   corpusCmd   `cmd:"" help:"Look at traces, fetch or make some."`
	Compare  compareCmd  `cmd:"" help:"Judge what changed between two runs, or measure the noise floor of repeats (--aa)."`
	AB       abCmd       `cmd:"" name:"ab" help:"Measure two engines in one job, in the order head, base, base, head, and compare them. Takes the flags of 'run'."`
	Report   reportCmd   `cmd:"" help:"Write a run's HTML page and charts again, from its artifacts."`
	Validate validateCmd `cmd:"" help:"Check a run's artifacts: schema, manifest, invariants."`
	Publish  publishCmd  `cmd:"" help:"Tell of a run from its artifacts: store, pull request, job summary. --print only shows what would be told."`
	Action   actionCmd   `cmd:"" help:"What GitHub's runner calls: 'run' with the inputs of the workflow, then everything that 'publish' does."`

	Version kong.VersionFlag `help:"Print the version."`
}

// Main is the program as a function: it returns the exit code.
func Main(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	openai.UserAgent = "agentx/" + run.Version
	code := -1
	var g grammar
	parser, err := kong.New(&g,
		kong.Name("agentx"), kong.Description("Agentic load on LLM engines, measured. Independent of SemiAnalysis and NVIDIA."),
		kong.Vars{"version": run.Version, "sampleSeed": fmt.Sprint(corpus.SampleSeed)}, kong.Writers(stdout, stderr), kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Exit(func(c int) { code = c; panic(exited{}) }),
	)
	if err != nil {
		fmt.Fprintln(stderr, "agentx:", err)
		return exitFailed
	}
	return guard(&code, func() int {
		if len(args) == 0 {
			args = []string{"--help"}
		}
		spread, err := spreadLists(args)
		if err != nil {
			fmt.Fprintln(stderr, "agentx:", err)
			return exitUsage
		}
		c, err := parser.Parse(spread)
		if err != nil && verbOf(args) != verbAction {
			fmt.Fprintf(stderr, "agentx: %v\n(agentx %s --help lists the flags)\n", err, verbOf(args))
			return exitUsage
		}
		last := new(will)
		ctx, stop := interruptible(stderr, last)
		defer stop()
		defer last.handOver(stderr)
		to := &console{ctx: ctx, out: stdout, err: stderr, command: redactArgs(args), will: last, commands: commandsTo(stdout, stderr), close: func() {}}
		defer func() { to.close() }()
		if err != nil {
			err = to.refuseInputs(args, err)
		} else {
			err = c.Run(to)
		}
		if err != nil {
			fmt.Fprintln(to.err, "agentx:", err)
		}
		return exitCode(err)
	})
}

// exited unwinds the parser when it asks to exit (help, version).
type exited struct{}

func guard(code *int, f func() int) (out int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exited:
			out = *code
		default:
			panic(r)
		}
	}()
	return f()
}

func verbOf(args []string) string {
	if len(args) > 0 && len(args[0]) > 0 && args[0][0] != '-' {
		return args[0]
	}
	return ""
}

// invalidError says that a run does not count, where that was asked to fail.
type invalidError struct {
	reasons   []string
	untrusted bool // it may count, but its figures may mislead
}

func (e *invalidError) Error() string {
	if e.untrusted {
		return fmt.Sprintf("the run is not to be trusted: %v", e.reasons)
	}
	return fmt.Sprintf("the run does not count: %v", e.reasons)
}

// exitCode follows the precedence of decisions.md 31.
func exitCode(err error) int {
	var usage *run.UsageError
	var invalid *invalidError
	var worse *regressionError
	var refused *refusedError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &refused):
		return exitRefused // it says itself that nothing worse happened
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &invalid):
		return exitInvalid
	case errors.As(err, &worse):
		return exitWorse
	}
	return exitFailed
}
