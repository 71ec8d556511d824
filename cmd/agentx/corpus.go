package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/run"
	"github.com/org/agentx-action/pkg/workload/corpus"
	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
)

type corpusCmd struct {
	Stats corpusStatsCmd `cmd:"" help:"What a set of traces holds, and the prefix hits that it allows."`
	Fetch corpusFetchCmd `cmd:"" help:"Fetch a public corpus from Hugging Face, ahead of a run."`
	Synth corpusSynthCmd `cmd:"" help:"Make a small set of traces."`
}

// corpusStatsCmd prints the figures of traces.
type corpusStatsCmd struct {
	JSON        bool     `name:"json" help:"Print JSON: the total and every trace."`
	NestedTimes string   `default:"auto" enum:"auto,absolute,relative" help:"How inner subagent times are to be read: auto, absolute or relative."`
	MaxContext  int      `name:"max-context-length" placeholder:"N" help:"Leave traces with a longer prompt and answer out, in tokens."`
	Path        []string `arg:"" optional:"" help:"Trace files and folders; the bundled sample when none is given."`
}

// Run is called by the parser.
func (s *corpusStatsCmd) Run(c *console) error {
	o := corpus.Options{Basis: trace.Basis(s.NestedTimes), MaxContextTokens: s.MaxContext}
	var set *corpus.Corpus
	var err error
	if len(s.Path) == 0 {
		set, err = corpus.Sample(o)
	} else {
		set, err = corpus.Open(s.Path, o)
	}
	if err != nil {
		return &run.UsageError{Err: err}
	}
	stats := set.Stats()
	if s.JSON {
		return json.MarshalWrite(c.out, stats, jsontext.WithIndent("  "), json.Deterministic(true))
	}
	for _, n := range set.Notes {
		fmt.Fprintln(c.err, "note:", n)
	}
	rows, total := traceRows(set, stats)
	return table.Corpus(c.out, rows, total)
}

// traceRows are the figures as the table shows them.
func traceRows(set *corpus.Corpus, stats corpus.Stats) (rows []table.TraceRow, total table.TraceRow) {
	row := func(id string, n corpus.Counts, spanS float64) table.TraceRow {
		return table.TraceRow{
			ID: id, Requests: n.Requests, Subagents: n.Subagents, InTokens: n.InTokens, OutTokens: n.OutTokens,
			HitInstant: n.HitRatioInstant, HitCausal: n.HitRatioCausal, MaxContext: int64(n.MaxInPlusOut), SpanS: spanS,
		}
	}
	total = row("total", stats.Total.Counts, stats.Total.MaxSpanS)
	for i, t := range stats.Traces {
		r := row(t.ID, t.Counts, t.SpanS)
		if built, err := tree.New(set.Traces[i]); err == nil {
			r.Streams = len(built.Streams)
		}
		total.Streams += r.Streams
		rows = append(rows, r)
	}
	return rows, total
}

// corpusFetchCmd brings a public corpus into the cache.
type corpusFetchCmd struct {
	Revision string `placeholder:"REV" help:"Commit, tag or branch of the dataset; main when not given."`
	Name     string `arg:"" help:"As --public-dataset takes it."`
}

// Run is called by the parser.
func (f *corpusFetchCmd) Run(c *console) error {
	set, err := corpus.Public(f.Name)
	if err != nil {
		return &run.UsageError{Err: err}
	}
	c.bequeathCorpus(run.Source{Public: set.Name})
	o := run.Options{Stats: fetchLines, Progress: c.err, Live: isTerminal(c.err)}
	file, from, err := run.Fetch(c.ctx, set, f.Revision, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "file      %s\nsize      %d bytes\nsha256    %s\nrevision  %s\n", file, from.Bytes, from.SHA256, cmp.Or(from.Revision, "unknown"))
	return nil
}

const fetchLines = 10 * time.Second // between lines, as of a run

// bequeathCorpus gives a public corpus that is fetched into GitHub's workspace to its
// owner, who could not clear it away otherwise.
func (c *console) bequeathCorpus(s run.Source) {
	set, err := corpus.Public(s.Public)
	if s.Public == "" || err != nil {
		return // the run says so
	}
	if file, err := set.File(); err == nil {
		c.will.bequeath(filepath.Dir(file))
	}
}

// corpusSynthCmd writes made-up traces.
type corpusSynthCmd struct {
	Seed   uint64 `default:"${sampleSeed}" help:"Of everything that is drawn."`
	Traces int    `default:"16" help:"How many traces."`
	Output string `short:"o" placeholder:"FILE" help:"File to write, JSON lines; standard output when not given."`
}

// Run is called by the parser.
func (s *corpusSynthCmd) Run(c *console) error {
	if s.Traces < 1 {
		return &run.UsageError{Err: fmt.Errorf("--traces %d: must be at least 1", s.Traces)}
	}
	out := c.out
	if s.Output != "" {
		if err := os.MkdirAll(filepath.Dir(s.Output), 0o755); err != nil {
			return err
		}
		f, err := os.Create(s.Output)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f
	}
	for _, t := range corpus.Synth(s.Seed, corpus.SynthOptions{Traces: s.Traces}) {
		if err := trace.Write(out, t); err != nil {
			return err
		}
	}
	return nil
}
