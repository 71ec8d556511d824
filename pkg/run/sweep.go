package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/org/agentx-action/pkg/result/record"
)

// Sweep runs the agentic benchmark, and the baseline after it, at every
// concurrency asked for, in the order given: a result each, below Dir in c4, c8 and
// so on where there are several. A cold cache is proven for each: by a new engine
// (Deploy.Fresh), or by a reset. Its error says why a point failed or did not
// start; the reports of those before it are there.
func Sweep(ctx context.Context, o Options) (reports []Report, err error) {
	sessions, err := o.sessions(ctx)
	if err != nil {
		return nil, err
	}
	first := sessions[0]
	k := &keeper{o: &o, say: first.say}
	if len(sessions) > 1 || o.Deploy.Driver != nil {
		release, err := (&session{Options: o, say: first.say}).own()
		if err != nil {
			return nil, err
		}
		defer release()
	}
	defer func() {
		if closed := k.close(ctx); closed != nil {
			err = errors.Join(err, closed)
		}
	}()
	for i, s := range sessions {
		s.keeper, s.started = k, time.Now()
		switch {
		case i == 0, o.Deploy.Fresh == FreshConcurrency, o.Deploy.Fresh == FreshPoint:
			if err := k.renew(ctx, s.logDir(o.Dir)); err != nil {
				return reports, s.place(err)
			}
		default:
			s.ResetCache = true
		}
		report, err := s.point(ctx)
		if report.Document != nil {
			reports = append(reports, report)
		}
		if err != nil {
			return reports, s.place(err)
		}
	}
	return reports, nil
}

// sessions are the points of a sweep, each checked before anything is started.
func (o *Options) sessions(ctx context.Context) (all []*session, err error) {
	loads := o.Settings.Concurrency
	if len(loads) == 0 {
		loads = []int{0} // the rule set's
	}
	for i, c := range loads {
		s := &session{Options: *o, clock: record.NewClock(), runID: uuid.NewString()}
		s.say = &progress{w: o.Progress, every: o.Stats, live: o.Live}
		if c != 0 {
			s.Settings.Concurrency = []int{c}
		}
		if len(loads) > 1 {
			s.Dir = filepath.Join(o.Dir, fmt.Sprintf("c%d", c))
			s.sweep = fmt.Sprintf("%d of %v, %s", i+1, loads, cmp.Or(o.Deploy.Fresh, FreshRun))
		}
		if i > 0 {
			s.corpus = all[0].corpus
		}
		if err := s.prepare(ctx); err != nil {
			return nil, err
		}
		if err := s.askBefore(); err != nil {
			return nil, s.place(err)
		}
		all = append(all, s)
	}
	return all, nil
}

// logDir is where the log of a point's engine goes: into the point's folder when
// the engine is the point's own.
func (s *session) logDir(top string) string {
	switch s.Deploy.Fresh {
	case FreshConcurrency, FreshPoint:
		return s.Dir
	}
	return top
}

// place names the point that an error is of, where there are several.
func (s *session) place(err error) error {
	if s.sweep == "" {
		return err
	}
	return fmt.Errorf("concurrency %d: %w", s.Settings.Concurrency[0], err)
}

// point measures one concurrency on the engine that is up.
func (s *session) point(ctx context.Context) (Report, error) {
	report, err := s.watched(ctx, func(ctx context.Context) (Report, error) {
		if err := s.connect(ctx); err != nil {
			return Report{}, err
		}
		defer s.client.Close()
		release, err := s.ownPoint()
		if err != nil {
			s.scraper.stop()
			return Report{}, err
		}
		defer release()
		return s.measure(ctx)
	})
	if err == nil && len(s.Fixed.Shapes) > 0 {
		report.Fixed, err = s.baseline(ctx, report.Document)
	}
	return report, err
}

// ownPoint claims the folder of a point, unless the sweep has claimed it for the
// log of the engine.
func (s *session) ownPoint() (release func(), err error) {
	if s.Dir == s.keeper.o.Dir && s.Deploy.Driver != nil {
		return func() {}, nil
	}
	return s.own()
}

// watched does something with the engine that is up, and ends it when that dies.
func (s *session) watched(ctx context.Context, do func(context.Context) (Report, error)) (Report, error) {
	s.keeper.use(&s.Options)
	ctx, stop := s.keeper.watch(ctx)
	defer stop()
	report, err := do(ctx)
	var known *engineDied
	if died := diedOf(ctx); err != nil && died != nil && !errors.As(err, &known) {
		err = fmt.Errorf("%w (%w)", died, err)
	}
	return report, err
}
