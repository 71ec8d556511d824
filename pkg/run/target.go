package run

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/engine/scrape"
	"github.com/org/agentx-action/pkg/load/openai"
)

// engineTarget is one address where an engine is asked by itself: for its version, and to
// reset its cache.
type engineTarget struct {
	base      string
	recorders []*scrape.Recorder // of the engines that answer there
}

// engineTargets are the engines, each at the address of its own metrics page, where
// several are known; otherwise it is the run's address. A router is no engine.
func (s *session) engineTargets() ([]engineTarget, error) {
	base, err := apiBase(s.Client.URL)
	if err != nil {
		return nil, err
	}
	var engines []engineTarget
	all := engineTarget{base: base}
	for i, r := range s.scraper.recorders {
		if r.Last().Engine.Front() {
			continue
		}
		all.recorders = append(all.recorders, r)
		if base, err = apiBase(s.scraper.pages[i]); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(engines, func(t engineTarget) bool { return t.base == base }) {
			engines = append(engines, engineTarget{base, []*scrape.Recorder{r}})
		}
	}
	if len(engines) > 1 {
		return engines, nil
	}
	return []engineTarget{all}, nil
}

// apiBase is the address of the engine whose metrics page, or URL, is given.
func apiBase(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	page, err := scrape.MetricsURL(address)
	return strings.TrimSuffix(page, "/metrics"), err
}

// clientOf is the run's own client, or one like it that speaks to an engine behind
// the run's address.
func (s *session) clientOf(t engineTarget) (*openai.Client, error) {
	if own, err := apiBase(s.Client.URL); err == nil && own == t.base {
		return s.client, nil
	}
	c := s.Client
	c.URL = t.base
	return openai.New(c)
}

// routerOnly reports whether the metrics read are those of routers alone.
func (k *scraper) routerOnly() bool {
	return len(k.recorders) > 0 && !slices.ContainsFunc(k.recorders, func(r *scrape.Recorder) bool { return !r.Last().Engine.Front() })
}

// asideClient asks an engine for what is no part of the load.
func (s *session) asideClient() *http.Client {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: s.Client.Dial, TLSClientConfig: s.Client.TLS}
	return &http.Client{Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
