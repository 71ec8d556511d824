package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/engine/scrape"
)

// probe asks a starting engine whether it is ready.
type probe struct {
	address
	client  *http.Client
	key     string
	model   string
	metrics []string
}

func newProbe(a address, p Plan, metrics []string) *probe {
	return &probe{
		address: a, key: p.APIKey, model: p.Model, metrics: metrics,
		client: &http.Client{
			// No proxy: an engine is near. No redirect, lest the key go to a stranger.
			Transport:     &http.Transport{DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (p *probe) close() { p.client.CloseIdleConnections() }

// hopeless is an error that waiting doesn't mend.
type hopeless struct{ error }

func (h hopeless) Unwrap() error { return h.error }

// healthTimeout bounds one question for a page.
const healthTimeout = 5 * time.Second

// healthy asks /health, and the model list where there is no such page.
func (p *probe) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTimeout, fmt.Errorf("no answer within %v", healthTimeout))
	defer cancel()
	status, _, err := p.ask(ctx, http.MethodGet, p.health, nil)
	if err != nil {
		return err
	}
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		_, err := p.firstModel(ctx)
		return err
	}
	return refused(p.health, status, nil)
}

// firstModel is the first of the list.
func (p *probe) firstModel(ctx context.Context) (string, error) {
	names, err := p.served(ctx)
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// unknown says that an engine which does not know the model lists others.
func (p *probe) unknown(ctx context.Context) error {
	names, err := p.served(ctx)
	if err != nil || slices.Contains(names, p.model) {
		return nil //nolint:nilerr // the 404 itself is what is said
	}
	return hopeless{fmt.Errorf("the engine does not serve the model %q; it serves %q: give one of them with --model", p.model, names)}
}

// served lists the models; there is at least one.
func (p *probe) served(ctx context.Context) ([]string, error) {
	status, body, err := p.ask(ctx, http.MethodGet, p.models, nil)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, refused(p.models, status, body)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("%s is no model list: %w", p.models, err)
	}
	if len(list.Data) == 0 || list.Data[0].ID == "" {
		return nil, fmt.Errorf("%s lists no model yet", p.models)
	}
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

// completion is what the first one was.
type completion struct {
	PromptTokens     *int64 `json:"prompt_tokens"`
	CompletionTokens *int64 `json:"completion_tokens"`
}

func (c completion) String() string {
	if c.PromptTokens == nil || c.CompletionTokens == nil {
		return "without usage"
	}
	return fmt.Sprintf("%d tokens in, %d out", *c.PromptTokens, *c.CompletionTokens)
}

// answerTokens is how long the first completion may get.
const answerTokens = 8

// complete asks for one completion that has at least a token in it.
func (p *probe) complete(ctx context.Context) (completion, error) {
	if p.model == "" {
		var err error
		if p.model, err = p.firstModel(ctx); err != nil {
			return completion{}, err
		}
	}
	const prompt = "Name three colours."
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	question := struct {
		Model       string    `json:"model"`
		Messages    []message `json:"messages,omitempty"`
		Prompt      string    `json:"prompt,omitempty"`
		MaxTokens   int       `json:"max_tokens"`
		Temperature float64   `json:"temperature"`
		Stream      bool      `json:"stream"`
	}{Model: p.model, MaxTokens: answerTokens}
	if p.chat {
		question.Messages = []message{{"user", prompt}}
	} else {
		question.Prompt = prompt
	}
	text, err := json.Marshal(question)
	if err != nil {
		return completion{}, err
	}
	status, body, err := p.ask(ctx, http.MethodPost, p.completion, text)
	if err != nil {
		return completion{}, err
	}
	if status == http.StatusNotFound {
		if err := p.unknown(ctx); err != nil {
			return completion{}, err
		}
	}
	if status != http.StatusOK {
		return completion{}, refused(p.completion, status, body)
	}
	return p.answered(body)
}

func (p *probe) answered(body []byte) (completion, error) {
	type content struct {
		Content          string `json:"content"`
		Reasoning        string `json:"reasoning"`
		ReasoningContent string `json:"reasoning_content"`
	}
	var answer struct {
		Choices []struct {
			Text    string  `json:"text"`
			Message content `json:"message"`
		} `json:"choices"`
		Usage completion `json:"usage"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return completion{}, fmt.Errorf("%s answered no completion: %w", p.completion, err)
	}
	if n := answer.Usage.CompletionTokens; n != nil && *n > 0 && len(answer.Choices) > 0 {
		return answer.Usage, nil
	}
	for _, c := range answer.Choices {
		if c.Text+c.Message.Content+c.Message.Reasoning+c.Message.ReasoningContent != "" {
			return answer.Usage, nil
		}
	}
	return completion{}, fmt.Errorf("%s answered without a token: %s", p.completion, excerpt(body))
}

// measured reads one sample of each metrics page.
func (p *probe) measured(ctx context.Context) error {
	for _, page := range p.metrics {
		source := scrape.Source{URL: page, APIKey: p.key, Client: p.client}
		if _, err := source.Fetch(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 20

// ask makes one request. Its error is bare: the URL may hold what is secret.
func (p *probe) ask(ctx context.Context, method, page string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, page, bytes.NewReader(body))
	if err != nil {
		return 0, nil, hopeless{err}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, nil, bareCause(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, fmt.Errorf("the answer broke off: %w", bareCause(ctx, err))
	}
	return resp.StatusCode, answer, nil
}

func bareCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var in *url.Error
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}

// refused says what a status means. An engine that is still loading, or a router
// without workers yet, answers 404, 429 or 5xx; the rest won't change.
func refused(page string, status int, body []byte) error {
	err := fmt.Errorf("%s answered HTTP %d", visible(page), status)
	if len(body) > 0 {
		err = fmt.Errorf("%w: %s", err, excerpt(body))
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return hopeless{fmt.Errorf("%w; give the engine's API key", err)}
	case status >= 300 && status < 400:
		return hopeless{fmt.Errorf("%w, a redirect, which is not followed; give the engine's own URL", err)}
	case status == http.StatusNotFound || status == http.StatusRequestTimeout ||
		status == http.StatusTooEarly || status == http.StatusTooManyRequests || status >= 500:
		return err
	}
	return hopeless{err}
}

// visible is a URL without its query, which may hold a key.
func visible(page string) string {
	before, _, _ := strings.Cut(page, "?")
	return before
}

// excerpt is the beginning of an answer, fit for an error.
func excerpt(body []byte) string {
	const long = 300
	text := printable(strings.Join(strings.Fields(string(body[:min(len(body), long)])), " "))
	if len(body) > long {
		text += " …"
	}
	return text
}
