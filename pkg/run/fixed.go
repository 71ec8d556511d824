package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/org/agentx-action/pkg/load/calibrate"
	"github.com/org/agentx-action/pkg/load/fixed"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// point is one result of the baseline.
type point struct {
	shape       fixed.Shape
	concurrency int
	dir         string
}

// Fixed runs the fixed-length baseline alone: a result for every shape at every
// concurrency, in Dir itself when there is only one. Its error says why a point
// failed or did not start; the reports of those before it are there.
func Fixed(ctx context.Context, o Options) ([]Report, error) {
	s := &session{Options: o}
	s.say = &progress{w: o.Progress}
	points := s.points(o.Fixed.Concurrency)
	if len(points) == 0 {
		return nil, &UsageError{errors.New("no shape or no concurrency: give --shape 8192:1024 and --concurrency")}
	}
	if err := s.checkPoints(points); err != nil {
		return nil, err
	}
	if len(points) == 1 {
		points[0].dir = s.Dir
	}
	release, err := s.own()
	if err != nil {
		return nil, err
	}
	defer release()
	s.keeper = &keeper{o: &s.Options, say: s.say}
	if err := s.keeper.renew(ctx, s.Dir); err != nil {
		return nil, err
	}
	reports, err := s.runPoints(ctx, points)
	return reports, errors.Join(err, s.keeper.close(ctx))
}

// baseline runs it after a replay, on the same engine, below the replay's folder,
// whose manifest then lists it too.
func (s *session) baseline(ctx context.Context, replayed *result.Document) ([]Report, error) {
	loads := slices.Clone(s.Fixed.Concurrency)
	if l := replayed.Load.RequestsInFlight; (s.Fixed.Matched || len(loads) == 0) && l != nil {
		low := max(1, int(math.Floor(l.Avg)))
		loads = append(loads, low, low+1)
	}
	if len(loads) == 0 {
		loads = append(loads, s.Settings.Concurrency[0])
	}
	reports, err := s.runPoints(ctx, s.points(loads))
	return reports, errors.Join(err, result.WriteManifest(s.Dir, s.runID))
}

func (s *session) points(loads []int) (out []point) {
	loads = slices.Compact(slices.Sorted(slices.Values(loads)))
	for i, shape := range s.Fixed.Shapes {
		if slices.Contains(s.Fixed.Shapes[:i], shape) {
			continue
		}
		for _, c := range loads {
			name := fmt.Sprintf("%s%dx%d", result.FolderFixed, shape.ISL, shape.OSL)
			if len(loads) > 1 {
				name += fmt.Sprintf("-c%d", c)
			}
			out = append(out, point{shape, c, filepath.Join(s.Dir, name)})
		}
	}
	return out
}

// checkPoints refuses what cannot be before anything is started.
func (s *session) checkPoints(points []point) error {
	var errs []error
	for _, p := range points {
		c := s.fixedConfig(p)
		c.Model = "known later"
		errs = append(errs, c.Check())
	}
	if err := errors.Join(errs...); err != nil {
		return &UsageError{err}
	}
	return nil
}

// fits refuses shapes that the engine's context cannot hold.
func (s *session) fits() error {
	if s.served == nil || s.served.MaxModelLen == nil {
		return nil
	}
	for _, shape := range s.Fixed.Shapes {
		if need := int64(shape.ISL + shape.OSL); need > *s.served.MaxModelLen {
			return &UsageError{fmt.Errorf("the baseline's shape %v needs %d tokens, the engine's context holds %d: take another shape, or none", shape, need, *s.served.MaxModelLen)}
		}
	}
	return nil
}

func (s *session) runPoints(ctx context.Context, points []point) (reports []Report, err error) {
	for i, p := range points {
		f := &session{Options: s.Options, clock: record.NewClock(), runID: uuid.NewString(), started: time.Now(), keeper: s.keeper}
		f.say = &progress{w: s.Progress, every: s.Stats, live: s.Live, fixed: true}
		f.Dir = p.dir
		if s.Deploy.Fresh == FreshPoint && (i > 0 || s.corpus != nil) { // the first alone has one already
			if err := os.MkdirAll(p.dir, 0o755); err != nil {
				return reports, err
			}
			if err := s.keeper.renew(ctx, p.dir); err != nil {
				return reports, err
			}
		}
		report, err := f.watched(ctx, func(ctx context.Context) (Report, error) { return f.fixedPoint(ctx, p) })
		if s.Deploy.Fresh == FreshPoint {
			err = errors.Join(err, s.keeper.close(ctx)) // so that its log is among the folder's files
		}
		if report.Document != nil {
			reports = append(reports, report)
		}
		if err != nil && ctx.Err() != nil {
			err = ErrCancelled // whatever it was cut off at
		}
		if err != nil {
			return reports, fmt.Errorf("fixed-length baseline %v at %d: %w", p.shape, p.concurrency, err)
		}
	}
	return reports, nil
}

func (s *session) fixedConfig(p point) fixed.Config {
	o := &s.Fixed
	c := fixed.Config{
		Shape: p.shape, Concurrency: p.concurrency, RangeRatio: o.RangeRatio, Prompts: o.Prompts, Warmups: o.Warmups,
		Seed: or(s.Settings.RandomSeed, 0), RunID: s.runID, Endpoint: o.Endpoint,
	}
	if c.Endpoint == "" && s.Client.Endpoint != "" {
		c.Endpoint = fixed.Chat // the path given is a chat's
	}
	return c.Defaults()
}

// fixedPoint measures one point on an engine that is up.
func (s *session) fixedPoint(ctx context.Context, p point) (Report, error) {
	report := Report{Dir: s.Dir}
	cfg := s.fixedConfig(p)
	s.say.say("fixed-length baseline: %v tokens, %d at once, %d prompts after %d warm-ups, %s endpoint", p.shape, p.concurrency, cfg.Prompts, max(cfg.Warmups, 0), cfg.Endpoint)
	s.Client.IgnoreEOS = true
	s.Client.Extra = maps.Clone(s.Client.Extra)
	if s.Client.Extra == nil {
		s.Client.Extra = map[string]jsontext.Value{}
	}
	if _, given := s.Client.Extra["temperature"]; !given {
		s.Client.Extra["temperature"] = jsontext.Value("0")
	}
	if err := s.dial(ctx); err != nil {
		return report, err
	}
	defer s.client.Close()
	cfg.Model = s.Models[0]
	s.scraper = newScraper(ctx, s)
	s.identify(ctx)
	proof, err := s.prepareFixed(ctx, &cfg)
	if err != nil {
		s.scraper.stop()
		return report, err
	}
	return s.measureFixed(ctx, cfg, proof)
}

// prepareFixed resets the cache and measures what the engine adds to a prompt.
func (s *session) prepareFixed(ctx context.Context, cfg *fixed.Config) (proof cacheProof, err error) {
	if s.Fixed.KeepCache {
		proof = cacheProof{text: "not asked for"}
	} else {
		proof = s.resetCache(ctx, cfg.Endpoint == fixed.Chat)
		s.say.say("prefix cache: %s", proof)
	}
	s.probes, err = calibrate.Single(ctx, s.client, cfg.Model, cfg.Seed, cfg.Endpoint == fixed.Chat)
	if err != nil {
		return proof, err
	}
	if !s.probes.Known {
		s.say.say("note: the engine reports no usage, so prompt lengths cannot be checked against its own count")
	}
	cfg.OverheadTokens = max(0, s.probes.Overhead.Prompt)
	// Probes stand in no record, and beside a small baseline they are not little.
	s.scraper.mark(markWarmup)
	return proof, nil
}

func (s *session) measureFixed(ctx context.Context, cfg fixed.Config, proof cacheProof) (Report, error) {
	if s.Dir != s.keeper.o.Dir { // a folder below it, which is claimed already
		release, err := s.own()
		if err != nil {
			s.scraper.stop()
			return Report{Dir: s.Dir}, err
		}
		defer release()
	}
	field := "messages"
	if cfg.Endpoint == fixed.Completions {
		field = "prompt"
	}
	var out fixed.Outcome
	return s.record(func(k *sink) (err error) {
		out, err = fixed.Run(ctx, cfg, sender{s.client, field, true}, k, s.clock)
		return err
	}, func(k *sink) error {
		switch {
		case out.Cancelled:
			return ended(ctx)
		case k.ok == 0:
			return errors.New("no request finished in the measured phase; look at the engine")
		}
		return nil
	}, func(err error) *result.Facts { return s.fixedFacts(&out, cfg, proof, err) })
}
