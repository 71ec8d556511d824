package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/agentx-action/pkg/load/fixed"
	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
	"github.com/org/agentx-action/pkg/run"
)

// fixedCmd runs the fixed-length baseline alone.
type fixedCmd struct {
	serverFlags
	Shape        []string `default:"8192:1024" help:"Largest input and output in tokens, as 8192:1024 or 8k/1k; several make a result each." placeholder:"ISL:OSL" group:"Load"`
	Concurrency  []int    `help:"Requests in flight; several make a result each." placeholder:"N" group:"Load"`
	RangeRatio   float64  `aliases:"random-range-ratio" default:"0.8" help:"Lengths are drawn from this share of the shape up to all of it." placeholder:"R" group:"Load"`
	NumPrompts   int      `help:"Prompts measured; 10 times the concurrency when not given." placeholder:"N" group:"Load"`
	NumWarmups   *int     `help:"Prompts before them; twice the concurrency when not given." placeholder:"N" group:"Load"`
	EndpointType string   `default:"completions" enum:"completions,chat" help:"completions or chat." group:"Load"`
	RandomSeed   *uint64  `help:"Of lengths and texts; 0 when not given." placeholder:"N" group:"Load"`
	ResetCache   bool     `default:"true" negatable:"" help:"Reset the engine's prefix cache before each result, and prove it." group:"Load"`
	outputFlags
	simFlags
}

// Run is called by the parser.
func (f *fixedCmd) Run(c *console) error {
	o, err := f.options(c)
	if err != nil {
		return err
	}
	reports, err := run.Fixed(c.ctx, o)
	for _, r := range reports {
		if showErr := table.Result(c.out, r.Document, table.Options{HTTP: f.ShowTraceTiming, Color: inColor(c.out)}); showErr != nil {
			err = errors.Join(err, showErr)
		}
		fmt.Fprintf(c.out, "\n%s\nartifacts: %s\n", fixedLine(r.Document), r.Dir)
	}
	if err != nil || !f.failsOn(onInvalid) && !f.failsOn(onUntrusted) {
		return err
	}
	for _, r := range reports {
		if v := &r.Document.Validity; !v.Trusted {
			return &invalidError{untrusted: true, reasons: []string{"see the findings"}}
		}
	}
	return nil
}

func (f *fixedCmd) options(c *console) (run.Options, error) {
	o := run.Options{
		Command: c.command, Models: f.ModelNames, Counting: record.CountServer,
		MetricsURLs: f.ServerMetrics, NoMetrics: f.NoServerMetrics,
		GPUTelemetry: f.GPUTelemetry, NoGPUTelemetry: f.NoGPUTelemetry,
		Dir: f.OutputArtifactDir, Wait: seconds(f.WaitForModelTimeout), Stats: seconds(f.StatsInterval), Progress: c.err, Live: isTerminal(c.err),
		Fixed: run.FixedOptions{
			Concurrency: f.Concurrency, RangeRatio: f.RangeRatio, Prompts: f.NumPrompts,
			Endpoint: fixed.Endpoint(f.EndpointType), KeepCache: !f.ResetCache,
		},
	}
	c.will.bequeath(o.Dir)
	var errs errorList
	errs.add(f.serverFlags.refuse())
	errs.add(f.gates())
	if len(f.CompareWith) > 0 || f.Floor != "" || f.failsOn(onRegression) {
		errs.add(errors.New("--compare-with, --floor and --fail-on regression: fixed measures and compares nothing; agentx compare does, afterwards"))
	}
	shapes, err := parseShapes(f.Shape)
	errs.add(err)
	o.Fixed.Shapes = shapes
	if f.RangeRatio == 0 {
		errs.add(errors.New("--range-ratio 0: must be above 0 and at most 1"))
	}
	if n := f.NumWarmups; n != nil {
		o.Fixed.Warmups = *n
		if *n <= 0 {
			o.Fixed.Warmups = -1 // none
		}
	}
	o.Settings.RandomSeed, o.Settings.Streaming, o.Settings.SliceDurationS = f.RandomSeed, f.Streaming, f.SliceDuration
	if f.UseServerTokenCount != nil && !*f.UseServerTokenCount {
		o.Counting = record.CountClient
	}
	o.SLOs, err = summary.ParseSLOs(strings.Join(f.Goodput, " "))
	errs.add(err)
	o.Client = f.client(&errs)
	errs.add(readEnvironment(&o, c.err))
	if err := errs.join(); err != nil {
		return o, &run.UsageError{Err: err}
	}
	if o.Client.URL != "" {
		return o, nil
	}
	cfg, err := f.simFlags.config()
	o.Sim = &cfg
	return o, err
}

// baselineFlags say which baseline follows a replay.
type baselineFlags struct {
	FixedShapes       []string `help:"Shapes of the fixed-length baseline after the replay, or none; 8192:1024 when not given, a small one in the demonstration." placeholder:"ISL:OSL" group:"Baseline"`
	FixedConcurrency  []string `help:"Its requests in flight. matched, the default, takes the two whole numbers around the mean of the replay." placeholder:"N" group:"Baseline"`
	FixedEndpointType string   `default:"" enum:",completions,chat" help:"completions or chat." placeholder:"TYPE" group:"Baseline"`
	NoFixed           bool     `help:"Leave the baseline out." group:"Baseline"`
}

// The baselines of a run that names none: InferenceX' active shape, and one that
// takes a few seconds.
const (
	defaultShape = "8192:1024"
	demoShape    = "1024:128"
)

func (f *baselineFlags) baseline(demo bool) (run.FixedOptions, error) {
	o := run.FixedOptions{Endpoint: fixed.Endpoint(f.FixedEndpointType)}
	shapes := f.FixedShapes
	switch {
	case f.NoFixed || len(shapes) == 1 && shapes[0] == "none":
		return o, nil
	case len(shapes) == 0 && demo:
		shapes = []string{demoShape}
	case len(shapes) == 0:
		shapes = []string{defaultShape}
	}
	var errs errorList
	var err error
	o.Shapes, err = parseShapes(shapes)
	errs.add(err)
	for _, text := range f.FixedConcurrency {
		if text == "matched" {
			o.Matched = true
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			errs.add(fmt.Errorf("--fixed-concurrency %s: must be whole numbers above 0, or matched", text))
			continue
		}
		o.Concurrency = append(o.Concurrency, n)
	}
	if err := errs.join(); err != nil {
		return o, &run.UsageError{Err: err}
	}
	return o, nil
}

func parseShapes(texts []string) (out []fixed.Shape, err error) {
	var errs errorList
	for _, text := range texts {
		s, err := fixed.ParseShape(text)
		errs.add(err)
		out = append(out, s)
	}
	return out, errs.join()
}

// fixedLine is a baseline in one line.
func fixedLine(d *result.Document) string {
	f := d.Fixed
	line := fmt.Sprintf("fixed-length %d/%d at %d:", f.ISL, f.OSL, f.MaxConcurrency)
	for _, c := range []struct{ key, format string }{
		{"output_throughput", " %.0f output tokens/s"}, {"total_token_throughput", ", %.0f in all"},
		{"median_ttft_ms", ", TTFT p50 %.1f ms"}, {"median_tpot_ms", ", TPOT p50 %.2f ms"},
	} {
		if v, ok := f.Raw[c.key]; ok {
			line += fmt.Sprintf(c.format, v)
		}
	}
	if s := f.Steady; s != nil {
		line += fmt.Sprintf("; while full %.0f output tokens/s", s.Raw["output_throughput"])
	}
	return line
}
