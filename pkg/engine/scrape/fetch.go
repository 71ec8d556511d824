package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// DefaultTimeout bounds one fetch, from dialling to the last byte.
const DefaultTimeout = 5 * time.Second

// Source is one engine's metrics page. Only URL is needed.
type Source struct {
	// URL is the engine's base (http://host:8000, with or without /v1) or its
	// page (…/metrics). See [MetricsURL].
	URL string
	// Client is used without its redirects; nil means one of this package's own,
	// apart from the connections of the load.
	Client *http.Client
	// APIKey goes out as a bearer token; it stands in no error.
	APIKey string
	// Timeout bounds one fetch; 0 means [DefaultTimeout].
	Timeout time.Duration
	// Clock stamps the pages; without one they have no stamp.
	Clock record.Clock
}

// MetricsURL is the page that belongs to a base URL: /metrics at the place of
// the API's /v1, where most engines have it. A URL that ends in /metrics stays, as
// does the gateway's …/engine_metrics.
func MetricsURL(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("metrics URL %q: give the engine's URL with http:// or https:// and a host", visible(base))
	}
	u.Fragment = ""
	path := strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(path, "/metrics") && !strings.HasSuffix(path, "_metrics") {
		path = strings.TrimSuffix(path, "/v1") + "/metrics"
	}
	u.Path, u.RawPath = path, ""
	return u.String(), nil
}

// Fetch reads the page once. Its errors name the URL and what to do.
func (s *Source) Fetch(ctx context.Context) (*Page, error) {
	text, at, err := s.Text(ctx)
	if err != nil {
		return nil, err
	}
	families, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w; is this the engine's metrics page?", s, err)
	}
	return &Page{At: at, Families: families, text: text}, nil
}

// Text reads the page once, whatever it holds, up to 16 MiB. at is when the
// server began to answer.
func (s *Source) Text(ctx context.Context) (text []byte, at record.Stamp, err error) {
	page, err := MetricsURL(s.URL)
	if err != nil {
		return nil, 0, err
	}
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no whole page within %v", timeout))
	defer cancel()
	if text, at, err = s.get(ctx, page); err != nil {
		return nil, 0, fmt.Errorf("metrics of %s: %w", s, err)
	}
	return text, at, nil
}

// String is the page's address, without what may be secret in it.
func (s *Source) String() string {
	page, err := MetricsURL(s.URL)
	if err != nil {
		page = s.URL
	}
	return visible(page)
}

func (s *Source) get(ctx context.Context, page string) ([]byte, record.Stamp, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, 0, errors.New("not a URL that can be asked")
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	if s.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+s.APIKey)
	}
	resp, err := s.client().Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("%w; is the engine up, and is this its address?", s.cause(ctx, err))
	}
	defer resp.Body.Close()
	var at record.Stamp
	if !s.Clock.Origin().IsZero() {
		at = s.Clock.Now()
	}
	if err := refused(resp); err != nil {
		return nil, 0, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	if err != nil {
		return nil, 0, fmt.Errorf("the page broke off: %w", s.cause(ctx, err))
	}
	return body, at, nil
}

// refused turns an answer that holds no page into an error with its remedy.
func refused(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("HTTP %d; the page wants the engine's API key", code)
	case code == http.StatusNotFound:
		return errors.New("HTTP 404; switch metrics on (SGLang: --enable-metrics) or give the page's own URL")
	case code >= 300 && code < 400:
		return fmt.Errorf("HTTP %d to %s, which is not followed; give the page's own URL", code, visible(resp.Header.Get("Location")))
	default:
		return fmt.Errorf("HTTP %d; see the engine's log", code)
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && (kind == "text/html" || kind == "application/json") {
		return fmt.Errorf("the page is %s, not Prometheus text; give the URL of the engine's own metrics page (TensorRT-LLM: …/prometheus/metrics)", kind)
	}
	return nil
}

// cause is the bare reason, without the URL that net/http puts into it.
func (s *Source) cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var in *url.Error
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}

// own is shared by all sources without a client. An engine's server closes idle
// connections after 5 s, so ours go first; compressing pages is no work for it.
// The environment's proxy is not asked, as the load does not ask it.
var own = &http.Client{Transport: &http.Transport{
	DisableCompression: true,
	IdleConnTimeout:    4 * time.Second,
	MaxIdleConns:       16,
}}

// client does not follow redirects, lest the key go to a stranger.
func (s *Source) client() *http.Client {
	c := own
	if s.Client != nil {
		c = s.Client
	}
	still := *c
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &still
}

// visible is a URL without what may be secret in it: user, password, query.
func visible(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(unreadable)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
