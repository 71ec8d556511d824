package run

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// cacheProof says whether the engine's prefix cache was empty before the
// baseline, by the engine's own counts (decisions.md 21).
type cacheProof struct {
	proven  bool
	caching *bool // whether it keeps prefixes at all; nil when that cannot be seen
	text    string
}

func (p cacheProof) String() string {
	if p.proven {
		return "proven empty: " + p.text
	}
	return "NOT proven empty: " + p.text
}

// Size of the probe: more than any block or page of an engine's cache.
const resetWords = 1024

// An engine resets only when nothing uses the cache, and what was cut off at the
// end of a replay may take a moment to leave it.
const (
	resetTries = 5
	resetPause = 300 * time.Millisecond
)

// resetCache empties the engines' prefix caches and proves it, of each engine by
// itself: behind a router one prompt may reach any of them.
func (s *session) resetCache(ctx context.Context, chat bool) cacheProof {
	targets, err := s.engineTargets()
	if err != nil {
		return cacheProof{text: err.Error()}
	}
	whole := cacheProof{proven: true}
	for i, t := range targets {
		one := s.resetOne(ctx, t, chat)
		if len(targets) == 1 {
			whole = one
			break
		}
		whole.proven = whole.proven && one.proven
		if one.caching != nil && (whole.caching == nil || *one.caching) {
			whole.caching = one.caching
		}
		if i > 0 {
			whole.text += "; "
		}
		whole.text += redact(t.base) + ": " + one.text
	}
	if why := s.unseen(targets); why != "" {
		whole.proven = false
		whole.text += "; " + why
	}
	return whole
}

// unseen says why there may be engines whose caches nobody has looked at; "" where
// there are none.
func (s *session) unseen(targets []engineTarget) string {
	k := s.scraper
	var replicas int
	if s.keeper != nil && s.keeper.up != nil {
		replicas = s.keeper.up.Facts.Replicas
	}
	const give = "give the engines' own pages with --server-metrics"
	switch {
	case k.routerOnly():
		return "only a router's metrics page is known, and the reset through it may have reached any of its engines: " + give
	case len(s.MetricsURLs) > 1 && len(k.silent) > 0:
		return fmt.Sprintf("no metrics page at %s, so that engine was neither reset nor asked by itself", redact(k.silent[0]))
	case replicas > len(targets):
		return fmt.Sprintf("%d replicas were started and %d are known by a metrics page: %s", replicas, len(targets), give)
	}
	return ""
}

// resetOne proves it at one address with one prompt: sent twice its prefix is
// found, and after the reset it no longer is.
func (s *session) resetOne(ctx context.Context, t engineTarget, chat bool) cacheProof {
	ctx, cancel := context.WithTimeoutCause(ctx, resetTimeout, fmt.Errorf("no proof within %v", resetTimeout))
	defer cancel()
	client, err := s.clientOf(t)
	if err != nil {
		return cacheProof{text: err.Error()}
	}
	if client != s.client {
		defer client.Close()
	}
	p := &resetProbe{session: s, client: client, recorders: t.recorders, chat: chat}
	p.hits(ctx)
	before, known := p.hits(ctx)
	apart := false // what was sent at first is found only later: there are several engines
	for range routedTries {
		if !known || before > 0 {
			break
		}
		before, known = p.hits(ctx)
		apart = before > 0
	}
	if p.err != nil {
		return cacheProof{text: p.err.Error()}
	}
	off, on := false, true
	if known && before == 0 {
		return cacheProof{proven: true, caching: &off, text: "a prompt sent again found nothing, so prefix caching is off"}
	}
	for try := range resetTries {
		if try > 0 && !sleep(ctx, resetPause) {
			break
		}
		if err := s.postTo(ctx, t.base); err != nil {
			return cacheProof{text: err.Error()}
		}
		if !known || before == 0 {
			return cacheProof{text: "it was reset, but the engine shows no hits by which to prove it"}
		}
		if apart {
			return cacheProof{caching: &on, text: "it was reset, but a prompt sent again is found only now and then: several engines answer at this address; give their own metrics pages with --server-metrics"}
		}
		after, _ := p.hits(ctx)
		if p.err != nil {
			return cacheProof{caching: &on, text: p.err.Error()}
		}
		if after == 0 {
			return cacheProof{proven: true, caching: &on, text: fmt.Sprintf("a prompt of %d words found %.0f tokens of itself before the reset and none after it", resetWords, before)}
		}
	}
	return cacheProof{caching: &on, text: fmt.Sprintf("the engine took the reset, but a prompt of before it is still found (%d tries)", resetTries)}
}

// routedTries is how often a prompt is sent once more before it is believed that
// nobody keeps prefixes.
const routedTries = 3

// resetTimeout bounds the proof at one address: an engine of a prefill/decode pair
// may never answer by itself.
const resetTimeout = 2 * time.Minute

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// resetPaths are vLLM's (in development mode) and SGLang's.
var resetPaths = []string{"/reset_prefix_cache?reset_external=true", "/flush_cache"}

func (s *session) postTo(ctx context.Context, base string) (err error) {
	client := s.asideClient()
	for _, path := range resetPaths {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodPost, base+path, nil); err != nil {
			return fmt.Errorf("reset of the cache at %s: not a URL that can be asked", redact(base))
		}
		if s.Client.APIKey != "" {
			req.Header.Set("Authorization", "Bearer "+s.Client.APIKey)
		}
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("reset of the cache at %s: no answer", redact(base))
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
		_ = resp.Body.Close()
		switch {
		case resp.StatusCode < 300:
			return nil
		case resp.StatusCode == http.StatusBadRequest:
			return nil // SGLang, still busy: the probe will tell
		}
	}
	return fmt.Errorf("the engine at %s resets no cache (vLLM needs VLLM_SERVER_DEV_MODE=1)", redact(base))
}
