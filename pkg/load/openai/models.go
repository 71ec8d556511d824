package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

// Model is one entry of an engine's model list.
type Model struct {
	ID string `json:"id"`
	// MaxModelLen is the engine's context in tokens; nil if it does not say.
	MaxModelLen *int64 `json:"max_model_len"`
	// Root is the model behind the served name, such as a path; "" if unknown.
	Root string `json:"root"`
	// OwnedBy is who serves it: vllm, sglang, …; "" if unknown.
	OwnedBy string `json:"owned_by"`
}

// modelsTimeout bounds a request for the model list.
const modelsTimeout = 30 * time.Second

// maxModelsBytes bounds the list: hosted gateways serve hundreds of models.
const maxModelsBytes = 4 << 20

// Models asks the engine which models it serves (GET /v1/models). The error of
// an engine that is down, refuses or answers nonsense names the URL and what to
// do about it.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	where := display(c.address.models)
	models, err := c.models(ctx)
	if err != nil {
		return nil, fmt.Errorf("models of %s: %s", where, c.scrub(err.Error()))
	}
	return models, nil
}

func (c *Client) models(ctx context.Context) ([]Model, error) {
	ctx, stop := context.WithTimeoutCause(ctx, modelsTimeout, fmt.Errorf("no answer within %v; is the engine still starting?", modelsTimeout))
	defer stop()
	request := &http.Request{
		Method: http.MethodGet, URL: c.address.models, Host: c.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: c.header.Clone(),
	}
	request.Header.Del("Content-Type")
	request.Header.Set("Accept", "application/json")
	response, err := c.pool.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return nil, explain(ctx, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxModelsBytes+1))
	switch {
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("HTTP %d: %s; check the API key", response.StatusCode, said(raw))
	case response.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("HTTP 404: %s; is this the address of an engine with an OpenAI API?", said(raw))
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d: %s", response.StatusCode, said(raw))
	case err != nil:
		return nil, explain(ctx, err)
	case len(raw) > maxModelsBytes:
		return nil, fmt.Errorf("the answer is longer than %d MiB; is this the address of an engine?", maxModelsBytes>>20)
	}
	var list struct {
		Data []Model `json:"data"`
	}
	if err := json.Unmarshal(raw, &list, lenient); err != nil {
		return nil, fmt.Errorf("the answer is no model list (%w): %s; is this the address of an engine?", err, excerpt(raw))
	}
	if len(list.Data) == 0 {
		return nil, fmt.Errorf("the engine serves no model: %s", excerpt(raw))
	}
	for _, model := range list.Data {
		if model.ID == "" {
			return nil, fmt.Errorf("a model without an id: %s", excerpt(raw))
		}
	}
	return list.Data, nil
}

// explain prefers the reason for which a context ended.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var dial *dialError
	if !errors.As(err, &dial) && isGone(err) {
		return fmt.Errorf("the connection was closed without an answer: %w", err)
	}
	return err
}

func said(raw []byte) string { return cut(readable(errorMessage(raw)), 300) }
