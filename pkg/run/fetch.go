package run

import (
	"context"
	"errors"
	"time"

	"github.com/org/agentx-action/pkg/workload/corpus"
)

// Fetch brings a public corpus into the cache, unless it is there, and tells of it as
// a run would: of o it takes Stats, Progress and Live.
func Fetch(ctx context.Context, set corpus.PublicSet, revision string, o Options) (file string, from corpus.Origin, err error) {
	p := &progress{w: o.Progress, every: o.Stats, live: o.Live}
	defer p.wipe()
	f := p.fetching()
	f.Revision = revision
	if file, from, err = set.Fetch(ctx, f); err != nil {
		err = unopened(err)
	}
	return file, from, err
}

// unopened tells a corpus that cannot be from one that did not come: the network's
// fault, or the end of a run that was cancelled, is nobody's wrong usage.
func unopened(err error) error {
	var unfetched *corpus.FetchError
	if errors.As(err, &unfetched) || errors.Is(err, context.Canceled) {
		return err
	}
	return &UsageError{err}
}

// fetching tells how a corpus is fetched.
func (p *progress) fetching() corpus.Fetching {
	if p.w == nil {
		return corpus.Fetching{}
	}
	every := p.every
	if p.live && every > 0 {
		every = time.Second
	}
	return corpus.Fetching{Every: every, Tell: func(line string, passing bool) {
		if passing {
			p.pass("corpus: " + line)
			return
		}
		p.say("corpus: %s", line)
	}}
}
