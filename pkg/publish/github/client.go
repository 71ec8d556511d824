package github

import (
	"fmt"
	"net/http"
	"net/url"
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
	base, err := url.Parse(strings.TrimRight(or(o.APIURL, defaultAPI), "/") + "/")
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("github: the API's address %q is not a web address (GITHUB_API_URL)", o.APIURL)
	}
	graph, err := url.Parse(or(o.GraphQLURL, graphQLFor(base)))
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
		Timeout:   requestTimeout,
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

// bearer shows the token to GitHub's own hosts only, wherever a redirect leads.
type bearer struct {
	token string
	hosts []string
	next  http.RoundTripper
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, h := range b.hosts {
		if r.URL.Host == h {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+b.token)
			break
		}
	}
	return b.next.RoundTrip(r)
}
