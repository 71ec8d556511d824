package deploy

import (
	"context"
	"io"
	"slices"
	"time"
)

// At is an engine that is there already, at a URL as [Engine.URL] has it, with
// its metrics pages, if they aren't at /metrics. It is left as it is.
func At(url string, metrics ...string) Driver { return at{url, metrics} }

type at struct {
	url     string
	metrics []string
}

func (at) Sweep(context.Context) ([]string, error) { return nil, nil }

func (a at) Start(context.Context, string, io.Writer) (Engine, error) {
	if _, err := parseURL(a.url); err != nil {
		return nil, err
	}
	return a, nil
}

func (a at) URL() string                             { return a.url }
func (a at) MetricsURLs() []string                   { return slices.Clone(a.metrics) }
func (at) Facts() Facts                              { return Facts{Driver: "url"} }
func (at) Exited() <-chan struct{}                   { return nil } // whether it ends isn't told
func (at) Err() error                                { return nil }
func (at) Stop(context.Context, time.Duration) error { return nil }
