package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/org/agentx-action/pkg/engine/scrape"
	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/prompt/words"
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

// resetCache empties the engine's prefix cache and proves it with one prompt:
// sent twice its prefix is found, and after the reset it no longer is.
func (s *session) resetCache(ctx context.Context, chat bool) cacheProof {
	p := &resetProbe{session: s, chat: chat}
	p.hits(ctx)
	before, known := p.hits(ctx)
	for range routedTries { // a router may have sent it to another engine
		if !known || before > 0 {
			break
		}
		before, known = p.hits(ctx)
	}
	if p.err != nil {
		return cacheProof{text: p.err.Error()}
	}
	off, on := false, true
	if known && before == 0 && len(s.scraper.recorders) <= 1 {
		return cacheProof{proven: true, caching: &off, text: "a prompt sent twice found nothing, so prefix caching is off"}
	}
	for try := range resetTries {
		if try > 0 && !sleep(ctx, resetPause) {
			break
		}
		if err := s.postReset(ctx); err != nil {
			return cacheProof{text: err.Error()}
		}
		if !known || before == 0 {
			return cacheProof{text: "it was reset, but the engine shows no hits by which to prove it"}
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

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// resetProbe sends one prompt again and again and looks at what was found of it.
type resetProbe struct {
	*session
	chat  bool
	sent  int
	usage bool // the engine has told its hits in an answer
	err   error
}

// hits sends the prompt. The answer's own count goes first; vLLM leaves it out
// where it is 0, and then the engine's counters say it.
func (p *resetProbe) hits(ctx context.Context) (tokens float64, known bool) {
	if p.err != nil {
		return 0, false
	}
	p.sent++
	from := fmt.Sprintf("reset-%d", p.sent)
	p.scraper.mark(from)
	seen := p.client.Do(ctx, p.call())
	switch {
	case seen.Outcome != record.OK && seen.Error != nil:
		p.err = fmt.Errorf("the probe failed: %s (%s)", seen.Error.Message, seen.Error.Type)
		return 0, false
	case seen.Outcome != record.OK:
		p.err = fmt.Errorf("the probe ended with outcome %s", seen.Outcome)
		return 0, false
	}
	if u := seen.Usage; u != nil && u.CachedTokens != nil {
		p.usage = true
		return float64(*u.CachedTokens), true
	}
	if n, ok := p.counted(ctx, from); ok {
		return n, true
	}
	return 0, p.usage
}

// counted is what the engine's counters say was found since a mark. vLLM counts a
// moment after it has answered, so the prompt itself must have been counted.
func (p *resetProbe) counted(ctx context.Context, from string) (hits float64, known bool) {
	for try := range countTries {
		if try > 0 && !sleep(ctx, countPause) {
			break
		}
		to := fmt.Sprintf("%s-%d", from, try)
		p.scraper.mark(to)
		hits, counted, known := p.scraper.found(from, to)
		if counted || !known {
			return hits, known
		}
	}
	return 0, false
}

// How long to wait for the engine to count an answered prompt.
const (
	countTries = 20
	countPause = 100 * time.Millisecond
)

func (p *resetProbe) call() openai.Call {
	marker := prompt.NewMarker(prompt.MarkerWords, p.runID, 0, 0, "reset").Text()
	text := append(bytes.TrimRight(marker, " "), words.New(0).Slice(0, resetWords-12)...)
	c := openai.Call{Field: "prompt", Model: p.Models[0], MaxTokens: 1, RequestID: uuid.NewString(), CorrelationID: uuid.NewString(), Last: true}
	body := `"` + string(text) + `"`
	if p.chat {
		c.Field, body = "messages", `[{"role":"user","content":`+body+`}]`
	}
	c.Content = textContent{strings.NewReader(body)}
	return c
}

// textContent is a content that is at hand.
type textContent struct{ *strings.Reader }

func (t textContent) Len() int64 { return int64(t.Reader.Len()) }

// found is what the engine's prefix caches found between two marks. counted says
// that a prompt was counted in between at all, known that there are counters.
func (k *scraper) found(from, to string) (hits float64, counted, known bool) {
	for _, r := range k.recorders {
		w, err := r.Window(from, to)
		if err != nil {
			return 0, false, false
		}
		if len(w.Delta.Resets) > 0 { // a router's page, of one worker after another
			return 0, false, false
		}
		for name, v := range w.Delta.Counters {
			switch name {
			case scrape.PrefixHits, scrape.ExternalHits:
				hits += v
			case scrape.PrefixQueries: // SGLang has no hits before the first
				known = true
			case scrape.PromptTokens:
				counted = counted || v > 0
			}
		}
	}
	return hits, counted, known
}

// resetPaths are vLLM's (in development mode) and SGLang's.
var resetPaths = []string{"/reset_prefix_cache?reset_external=true", "/flush_cache"}

// postReset asks every engine that is known by address for a reset.
func (s *session) postReset(ctx context.Context) error {
	bases := []string{s.Client.URL}
	if len(s.MetricsURLs) > 1 { // several engines behind a router
		bases = s.MetricsURLs
	}
	for _, base := range bases {
		if !strings.Contains(base, "://") {
			base = "http://" + base
		}
		page, err := scrape.MetricsURL(base)
		if err != nil {
			return err
		}
		if err := s.postTo(ctx, strings.TrimSuffix(page, "/metrics")); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) postTo(ctx context.Context, base string) (err error) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: s.Client.Dial, TLSClientConfig: s.Client.TLS}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
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
