package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/org/agentx-action/pkg/load/calibrate"
	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/corpus"
	"github.com/org/agentx-action/pkg/workload/prompt"
)

// Report is what a run left.
type Report struct {
	Dir      string
	Document *result.Document // nil when nothing could be summed up
	Fixed    []Report         // of the baseline after a replay, one a point
}

// session is one run on its way.
type session struct {
	Options
	clock    record.Clock
	runID    string
	rules    scenario.Rules
	applied  scenario.Outcome
	corpus   *corpus.Corpus
	maker    *prompt.Maker
	client   *openai.Client
	served   *openai.Model // the model as the engine lists it; nil when it does not
	told     told
	probes   calibrate.Result
	scraper  *scraper
	say      *progress
	wasReset bool // the engine's cache, and proven so
	started  time.Time
	keeper   *keeper
	sweep    string // where this run stands in a sweep; empty when it is none
}

// Replay runs the agentic benchmark, and the baseline after it. Its error says why
// the run failed or did not start. Cancelling ctx ends the run in order, with
// ErrCancelled.
func Replay(ctx context.Context, o Options) (Report, error) {
	reports, err := Sweep(ctx, o)
	if len(reports) == 0 {
		return Report{}, err
	}
	return reports[0], err
}

// prepare settles everything that needs no engine.
func (s *session) prepare(ctx context.Context) (err error) {
	if s.rules, err = scenario.Lookup(s.Scenario); err != nil {
		return &UsageError{err}
	}
	s.Settings.Dataset = s.Source.Dataset()
	if s.applied, err = s.rules.Apply(&s.Settings, s.UnsafeOverride); err != nil {
		return &UsageError{err}
	}
	for _, v := range s.applied.Violations {
		s.say.say("overridden: %s", v)
	}
	if s.Demo {
		s.say.say("without --scenario nothing is locked and nothing is claimed: this run does not count as a benchmark")
	}
	if s.Settings.History != nil && *s.Settings.History != "recorded" {
		return &UsageError{fmt.Errorf("--history %s: only recorded is built so far", *s.Settings.History)}
	}
	if err := s.checkPoints(s.points(s.Fixed.Concurrency)); err != nil {
		return err
	}
	if err := s.readCorpus(ctx); err != nil {
		return err
	}
	s.maker = prompt.NewMaker(*s.Settings.RandomSeed)
	s.maker.Shape, s.maker.ISL = s.Shape, s.ISL
	return nil
}

// readCorpus opens the traces, unless the point before has.
func (s *session) readCorpus(ctx context.Context) (err error) {
	if s.corpus != nil {
		return nil
	}
	if s.corpus, err = s.Source.open(ctx, s.Corpus, s.say); err != nil {
		return unopened(err)
	}
	for _, n := range s.corpus.Notes {
		s.say.say("corpus: %s", n)
	}
	s.say.say("corpus: %s, %s", s.corpus.Name, s.corpus.Selection)
	return nil
}

func (s Source) open(ctx context.Context, o corpus.Options, say *progress) (*corpus.Corpus, error) {
	switch {
	case s.Public != "":
		set, err := corpus.Public(s.Public)
		if err != nil {
			return nil, err
		}
		defer say.wipe()
		return set.Open(ctx, o, say.fetching())
	case len(s.Paths) > 0:
		return corpus.Open(s.Paths, o)
	case s.Sample:
		return corpus.Sample(o)
	}
	return nil, errors.New("no traces: give --input-file or --public-dataset")
}

// connect finds the model and probes it.
func (s *session) connect(ctx context.Context) error {
	s.Client.IgnoreEOS = s.Settings.IgnoreEOS != nil && *s.Settings.IgnoreEOS
	if err := s.dial(ctx); err != nil {
		return err
	}
	s.scraper = newScraper(ctx, s)
	s.identify(ctx)
	if err := s.askBefore(); err != nil {
		s.scraper.stop()
		return err
	}
	if s.ResetCache {
		proof := s.resetCache(ctx, true)
		s.wasReset = proof.proven
		s.say.say("prefix cache: %s", proof)
	}
	marker := prompt.NewMarker(s.Marker, s.runID, 0, 0, "probe")
	var err error
	if s.probes, err = calibrate.Measure(ctx, s.client, s.Models[0], s.maker, marker); err != nil {
		s.scraper.stop()
		return err
	}
	s.reportProbes()
	s.maker.Overhead, s.maker.MarkerTokens = s.probes.Overhead, s.probes.MarkerTokens
	return nil
}

// await finds the model, waiting for a server that is still starting.
func (s *session) await(ctx context.Context) error {
	until := time.Now().Add(s.Wait)
	for {
		err := s.findModelBy(ctx, until)
		if err == nil || ctx.Err() != nil || !time.Now().Before(until) {
			return err
		}
		select {
		case <-time.After(min(time.Second, time.Until(until))):
		case <-ctx.Done():
		}
	}
}

// findModelBy gives up at the end of the wait, if there is one.
func (s *session) findModelBy(ctx context.Context, until time.Time) error {
	if s.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	return s.findModel(ctx)
}

// dial makes the client and finds the model.
func (s *session) dial(ctx context.Context) error {
	s.Client.Clock = s.clock
	if ms := s.Settings.TCPUserTimeoutMS; ms != nil && s.Client.UserTimeout == 0 {
		s.Client.UserTimeout = time.Duration(*ms) * time.Millisecond
	}
	s.Client.NonStreaming = s.Settings.Streaming != nil && !*s.Settings.Streaming
	client, err := openai.New(s.Client)
	if err != nil {
		return &UsageError{err}
	}
	s.client = client
	if err := s.await(ctx); err != nil {
		return err
	}
	return s.fits()
}

// findModel asks for the model list, and takes the only model when none is named.
func (s *session) findModel(ctx context.Context) error {
	models, err := s.client.Models(ctx)
	if err != nil {
		if len(s.Models) == 0 || s.Wait > 0 {
			return err
		}
		s.say.say("note: %v", err)
		return nil
	}
	if len(s.Models) == 0 {
		s.Models = []string{models[0].ID}
	}
	for _, m := range models {
		if m.ID == s.Models[0] {
			s.served = &m
			return nil
		}
	}
	var names []string
	for _, m := range models {
		names = append(names, m.ID)
	}
	return fmt.Errorf("the engine at %s does not serve the model %q; it serves %q: give one of them with --model", s.Client.URL, s.Models[0], names)
}

func (s *session) reportProbes() {
	p := s.probes
	if !p.Known {
		s.say.say("note: the engine reports no usage, so prompt lengths cannot be checked against its own count")
		return
	}
	s.say.say("engine: chat template adds %d tokens and %d a message; a word is a token (drift %d in 512)",
		p.Overhead.Prompt, p.Overhead.User, p.DriftTokens)
	for _, r := range p.Refused {
		s.say.say("note: no answer to the probe with %s", r)
	}
}

// measure replays, and writes what was seen.
func (s *session) measure(ctx context.Context) (Report, error) {
	var out replay.Outcome
	return s.record(func(k *sink) (err error) {
		early := s.begun()
		k.begun = func(list []replay.Phase) {
			early.Phases, early.EndedAt = phases(&replay.Outcome{Phases: list}), time.Now().Round(0)
			k.keep(result.WriteFacts(s.Dir, early))
		}
		s.scraper.mark(markWarmup)
		out, err = replay.Run(ctx, s.replayConfig(), replay.Workload{Traces: s.corpus.Traces, Maker: s.maker}, sender{Client: s.client}, k, s.clock)
		return errors.Join(err, s.keepConfig())
	}, func(k *sink) error { return judge(ctx, &out, k) }, func(err error) *result.Facts { return s.facts(&out, err) })
}

// record writes all that a measurement is about into the session's folder, which is
// claimed: what play measures, the metrics beside it, and the result that they make.
// What ended in order is judged by what came in. What either fails with is part of the
// facts.
func (s *session) record(play, judge func(*sink) error, facts func(error) *result.Facts) (Report, error) {
	report := Report{Dir: s.Dir}
	if err := s.scraper.keep(s.Dir); err != nil {
		s.scraper.stop()
		return report, err
	}
	k, err := newSink(s.Dir, s.say, s.scraper)
	if err != nil {
		s.scraper.stop()
		return report, err
	}
	runErr := play(k)
	s.say.wipe()
	s.scraper.stop()
	if err := k.close(); err != nil {
		runErr = errors.Join(runErr, fmt.Errorf("the artifacts could not be written whole: %w", err))
	}
	if runErr == nil { // only now are all counted
		runErr = judge(k)
	}
	if err := result.WriteFacts(s.Dir, facts(runErr)); err != nil {
		return report, errors.Join(runErr, err)
	}
	report.Document, err = result.Finish(s.Dir)
	return report, errors.Join(runErr, err)
}

// keepConfig writes what was asked for beside what came of it.
func (s *session) keepConfig() error {
	if s.Effective == nil {
		return nil
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return result.WriteAtomic(root, result.FileConfig, func(w io.Writer) error {
		_, err := w.Write(s.Effective)
		return err
	})
}

// ErrCancelled says that the user ended the run: what was measured is on disk, and
// does not count.
var ErrCancelled = errors.New("cancelled: what was measured is written, and does not count")

// own claims the artifact folder.
func (s *session) own() (release func(), err error) {
	release, moved, err := claim(s.Dir)
	if err != nil {
		return nil, &UsageError{err}
	}
	if moved != "" {
		s.say.say("note: the earlier run in %s is now in %s", s.Dir, moved)
	}
	return release, nil
}

// judge finds a run that ended in order and yet measured nothing.
func judge(ctx context.Context, out *replay.Outcome, k *sink) error {
	switch {
	case out.Aborted != nil:
		return out.Aborted
	case out.Cancelled:
		return ended(ctx)
	case k.ok == 0 && k.failed > 0:
		return fmt.Errorf("every one of %d requests failed; see error_summary in %s and the engine's log", k.failed, result.FileAIPerf)
	case k.ok == 0:
		return fmt.Errorf("no request finished in the measured phase; give --benchmark-duration more, or look at the engine")
	}
	return nil
}

func (s *session) replayConfig() replay.Config {
	set := &s.Settings
	c := replay.Config{
		Concurrency: set.Concurrency[0], Seed: *set.RandomSeed, RunID: s.runID,
		Models: s.Models, MaxOSL: s.MaxOSL, Marker: s.Marker, Sampling: s.Sampling,
		StartMinRatio: or(set.TrajectoryStartMinRatio, 0), StartMaxRatio: or(set.TrajectoryStartMaxRatio, 0), Burst: s.Burst,
		WarmupPerLane: or(set.WarmupRequestsPerLane, 0), WarmupDuration: span(set.AgenticCacheWarmupDurationS),
		WarmupGrace: span(set.WarmupGracePeriodS),
		Duration:    span(set.BenchmarkDurationS), Grace: grace(set.BenchmarkGracePeriodS),
		SystemIdleCap: span(set.SystemIdleGapCapS), TreeIdleCap: span(set.TraceIdleGapCapS),
		Delays: s.Delays, DelayCap: span(set.InterTurnDelayCapS),
		FailedThreshold: or(set.FailedRequestThreshold, -1),
	}
	if set.LanePlan != nil {
		c.LanePlan = replay.LanePlan(*set.LanePlan)
	}
	if set.IgnoreTraceDelays != nil && *set.IgnoreTraceDelays {
		c.Delays, c.Burst = replay.DelaysNone, true // the distances at a phase's start are delays too
	}
	return c
}

func or[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}

// span is a setting in seconds as a duration; absent and infinite mean none.
func span(s *float64) time.Duration {
	if s == nil || *s > forever.Seconds() {
		return 0
	}
	return time.Duration(*s * 1e9)
}

// grace is like span, but an infinite grace period is a very long one.
func grace(s *float64) time.Duration {
	if s != nil && *s > forever.Seconds() {
		return forever
	}
	return span(s)
}

const forever = 365 * 24 * time.Hour
