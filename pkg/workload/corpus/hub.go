package corpus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

const (
	defaultEndpoint = "https://huggingface.co"
	mainRevision    = "main"
	mostRedirects   = 10
)

// offline reports whether the user forbids fetching, as users of Hugging Face do.
func offline() bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(os.Getenv("HF_HUB_OFFLINE")))
}

// hub is Hugging Face, or who stands in for it.
type hub struct {
	endpoint *url.URL
	token    string // only ever sent to the endpoint
	client   *http.Client
	silence  time.Duration // after which a connection counts as cut
}

// newHub is the one that HF_ENDPOINT names.
func newHub() (*hub, error) {
	endpoint, err := url.Parse(strings.TrimRight(cmp.Or(os.Getenv("HF_ENDPOINT"), defaultEndpoint), "/"))
	if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" {
		return nil, errors.New("HF_ENDPOINT is no address; it must be like " + defaultEndpoint)
	}
	h := &hub{endpoint: endpoint, token: strings.TrimSpace(os.Getenv("HF_TOKEN")), silence: silence}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	through := httpproxy.FromEnvironment().ProxyFunc()
	transport.Proxy = func(r *http.Request) (*url.URL, error) { return through(r.URL) }
	transport.MaxResponseHeaderBytes = 1 << 20
	h.client = &http.Client{Transport: &withToken{h, transport}, CheckRedirect: mayFollow}
	return h, nil
}

// withToken sends the token to the endpoint, and to nobody that it points to.
type withToken struct {
	hub  *hub
	next http.RoundTripper
}

func (w *withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.hub.token != "" && w.hub.own(r.URL) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+w.hub.token)
	}
	return w.next.RoundTrip(r)
}

// own reports whether an address is the endpoint's.
func (h *hub) own(u *url.URL) bool {
	return u.Scheme == h.endpoint.Scheme && strings.EqualFold(u.Hostname(), h.endpoint.Hostname()) && port(u) == port(h.endpoint)
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

func mayFollow(next *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= mostRedirects:
		return &finalError{errors.New("it redirects in circles")}
	case next.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https":
		return &finalError{errors.New("it redirects to an address that is not https")}
	}
	return nil
}

// address is that of a set's file, without credentials.
func (h *hub) address(dataset, revision string) string {
	u := *h.endpoint
	u.User = nil
	return u.String() + resolve(dataset, revision)
}

func resolve(dataset, revision string) string {
	return "/datasets/" + dataset + "/resolve/" + url.PathEscape(revision) + "/traces.jsonl"
}

// remote is a file as the endpoint describes it.
type remote struct {
	dataset  string
	asked    string // revision
	revision string // commit; empty when the endpoint does not say
	sha256   string // empty when it does not say
	bytes    int64  // -1 when it does not say
}

var (
	commitHash = regexp.MustCompile(`^[0-9a-f]{40}$`)
	sha256Hash = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// note takes what headers of the endpoint say. It says most of it on the answer that
// points to where the content lies.
func (r *remote) note(h http.Header) {
	if commit := h.Get("X-Repo-Commit"); commitHash.MatchString(commit) {
		r.revision = commit
	}
	etag := strings.Trim(strings.TrimPrefix(cmp.Or(h.Get("X-Linked-Etag"), h.Get("Etag")), "W/"), `"`)
	if sha256Hash.MatchString(etag) {
		r.sha256 = etag // of a large file; that of a small one is git's own hash
	}
	if n, err := strconv.ParseInt(h.Get("X-Linked-Size"), 10, 64); err == nil && n >= 0 {
		r.bytes = n
	}
}

// describe asks what the endpoint has, and not for the content.
func (h *hub) describe(ctx context.Context, dataset, revision string) (*remote, error) {
	r := &remote{dataset: dataset, asked: revision, bytes: -1}
	client := *h.client
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		r.note(next.Response.Header)
		if !h.own(next.URL) {
			return http.ErrUseLastResponse
		}
		return mayFollow(next, via)
	}
	res, err := h.ask(ctx, &client, http.MethodHead, r, 0)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode >= 400 {
		return nil, h.refused(res, r)
	}
	if res.StatusCode == http.StatusOK {
		r.note(res.Header)
		if r.bytes < 0 {
			r.bytes = res.ContentLength
		}
	}
	return r, nil
}

// get asks for the content from a byte on. That of a commit cannot change between two
// tries.
func (h *hub) get(ctx context.Context, r *remote, from int64) (*http.Response, error) {
	res, err := h.ask(ctx, h.client, http.MethodGet, r, from)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK || from > 0 && (res.StatusCode == http.StatusPartialContent || res.StatusCode == http.StatusRequestedRangeNotSatisfiable) {
		return res, nil
	}
	defer res.Body.Close()
	return nil, h.refused(res, r)
}

// ask sends a request. A connection on which nothing comes for a while is cut.
func (h *hub) ask(ctx context.Context, client *http.Client, method string, r *remote, from int64) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	u := h.endpoint.String() + resolve(r.dataset, cmp.Or(r.revision, r.asked))
	req, err := http.NewRequestWithContext(ctx, method, u, nil)
	if err != nil {
		cancel(nil)
		return nil, &finalError{err}
	}
	req.Header.Set("User-Agent", "agentx")
	req.Header.Set("Accept-Encoding", "identity") // lengths and ranges are the file's own
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	quiet := time.AfterFunc(h.silence, func() { cancel(fmt.Errorf("nothing came for %v", h.silence)) })
	res, err := client.Do(req)
	quiet.Stop()
	if err != nil {
		err = plainError(ctx, err)
		cancel(nil)
		return nil, err
	}
	res.Body = &watchedBody{ReadCloser: res.Body, ctx: ctx, cancel: cancel, quiet: quiet, silence: h.silence}
	return res, nil
}

// plainError takes the address out of an error: that of the content is as good as a
// key to it.
func plainError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var at *url.Error
	if errors.As(err, &at) {
		host := "its address"
		if u, failed := url.Parse(at.URL); failed == nil {
			host = u.Host
		}
		return fmt.Errorf("%s: %w", host, at.Err)
	}
	return err
}

var errCut = errors.New("the connection was cut")

// watchedBody ends a body of which nothing comes for a while.
type watchedBody struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	quiet   *time.Timer
	silence time.Duration
}

func (w *watchedBody) Read(p []byte) (int, error) {
	w.quiet.Reset(w.silence)
	n, err := w.ReadCloser.Read(p)
	w.quiet.Stop()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errCut
	case err != nil && !errors.Is(err, io.EOF):
		err = plainError(w.ctx, err)
	}
	return n, err
}

func (w *watchedBody) Close() error {
	w.quiet.Stop()
	w.cancel(nil)
	return w.ReadCloser.Close()
}
