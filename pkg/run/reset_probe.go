package run

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/org/agentx-action/pkg/engine/scrape"
	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

// resetProbe sends one prompt again and again and looks at what was found of it.
type resetProbe struct {
	*session
	client    *openai.Client
	recorders []*scrape.Recorder
	chat      bool
	sent      int
	usage     bool // the engine has told its hits in an answer
	err       error
}

// hits sends the prompt. The answer's own count goes first; vLLM leaves it out
// where it is 0, and then the engine's counters say it.
func (p *resetProbe) hits(ctx context.Context) (tokens float64, known bool) {
	if p.err != nil {
		return 0, false
	}
	p.sent++
	from := fmt.Sprintf("reset-%d", p.sent)
	p.scraper.markOf(p.recorders, from)
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
		p.scraper.markOf(p.recorders, to)
		hits, counted, known := found(p.recorders, from, to)
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

// found is what the engines' prefix caches found between two marks. counted says
// that a prompt was counted in between at all, known that there are counters.
func found(recorders []*scrape.Recorder, from, to string) (hits float64, counted, known bool) {
	for _, r := range recorders {
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
