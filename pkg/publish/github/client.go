package github

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v62/github"
)

const (
	defaultAPI     = "https://api.github.com"
	defaultGraphQL = "https://api.github.com/graphql"
	defaultServer  = "https://github.com"

	// requestTimeout bounds one request; GitHub itself gives up after 10 s.
	requestTimeout = 30 * time.Second
)

// client is GitHub's API at one repository.
type client struct {
	*gh.Client
	graphQL     string
	owner, repo string
	retry       retry
	log         func(format string, args ...any)
}

func newClient(o *Options) (*client, error) {
	owner, repo, ok := strings.Cut(o.Repository, "/")
	if !ok || owner == "" || repo == "" || strings.Contains(repo, "/") {
		return nil, fmt.Errorf("github: the repository is %q, not owner/name (GITHUB_REPOSITORY)", o.Repository)
	}
	base, err := url.Parse(strings.TrimRight(cmp.Or(o.APIURL, defaultAPI), "/") + "/")
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("github: the API's address %q is not a web address (GITHUB_API_URL)", o.APIURL)
	}
	graph, err := url.Parse(cmp.Or(o.GraphQLURL, graphQLFor(base)))
	if err != nil || graph.Host == "" {
		return nil, fmt.Errorf("github: the address %q is not a web address (GITHUB_GRAPHQL_URL)", o.GraphQLURL)
	}
	transport := o.Transport
	if transport == nil {
		proxy := o.Proxy.ProxyFunc()
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
		transport = t
	}
	c := gh.NewClient(&http.Client{
		Transport: &bearer{token: o.Token, hosts: []string{base.Host, graph.Host}, next: transport},
	})
	// GITHUB_API_URL is whole: Enterprise's has /api/v3 in it.
	c.BaseURL = base
	c.UserAgent = "agentx"
	return &client{Client: c, graphQL: graph.String(), owner: owner, repo: repo, log: func(string, ...any) {}}, nil
}

// graphQLFor is where GraphQL is when only the REST address is known: /api/graphql
// beside Enterprise's /api/v3.
func graphQLFor(base *url.URL) string {
	if base.String() == defaultAPI+"/" {
		return defaultGraphQL
	}
	u := *base
	u.Path = strings.TrimSuffix(u.Path, "v3/") + "graphql"
	return u.String()
}

// bearer shows the token to GitHub's own hosts only, wherever a redirect leads, and
// bounds each request's time.
type bearer struct {
	token string
	hosts []string
	next  http.RoundTripper
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	// Not http.Client.Timeout: go-github leaves the bodies of refusals open, each
	// with a goroutine until that time.
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	r = r.Clone(ctx)
	if slices.Contains(b.hosts, r.URL.Host) {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	res, err := b.next.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &bounded{ReadCloser: res.Body, cancel: cancel, left: maxAnswer}
	return res, nil
}

// maxAnswer bounds an answer: a page of a hundred comments of the greatest length.
const maxAnswer = 64 << 20

// bounded is a body that ends the request's time with itself, and doesn't go on for
// ever.
type bounded struct {
	io.ReadCloser
	cancel context.CancelFunc
	left   int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	if err != nil {
		b.cancel()
	}
	return n, err
}

func (b *bounded) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}
