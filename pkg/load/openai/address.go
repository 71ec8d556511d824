package openai

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// address holds the URLs of an engine.
type address struct{ chat, completions, models *url.URL }

// The default paths.
const (
	chatPath        = "/v1/chat/completions"
	completionsPath = "/v1/completions"
	modelsPath      = "/v1/models"
)

func newAddress(raw, endpoint string) (address, error) {
	base, err := parseURL(raw)
	if err != nil {
		return address{}, err
	}
	path := strings.TrimRight(base.Path, "/")
	below, isChat := strings.CutSuffix(path, "/chat/completions")
	if !isChat {
		below, _ = strings.CutSuffix(path, "/completions")
	}
	isWhole := below != path
	at := func(path string) *url.URL {
		u := *base
		u.Path, u.RawPath = path, ""
		return &u
	}
	a := address{models: at(join(below, modelsPath))}
	a.models.RawQuery = ""
	switch {
	case endpoint != "":
		a.chat = at(join(below, "/"+strings.TrimLeft(endpoint, "/")))
		a.completions = a.chat
	default:
		a.chat, a.completions = at(join(below, chatPath)), at(join(below, completionsPath))
		if isWhole && isChat {
			a.chat = at(path)
		} else if isWhole {
			a.completions = at(path)
		}
	}
	return a, nil
}

func parseURL(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return nil, errors.New("no URL: give the engine's address, such as http://127.0.0.1:8000")
	}
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The error of url.Parse quotes the URL, which may hold a password.
		var cause *url.Error
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fmt.Errorf("URL: %w; it looks like http://127.0.0.1:8000", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("URL %s: scheme %q is neither http nor https", display(u), u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("URL %s: no host", display(u))
	case u.User != nil:
		return nil, fmt.Errorf("URL %s: holds a user name; give credentials as an API key or a header", display(u))
	case u.Fragment != "":
		return nil, fmt.Errorf("URL %s: a fragment (#%s) has no meaning here", display(u), u.Fragment)
	}
	return u, nil
}

// display is a URL without what may be secret in it: user and query.
func display(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// join puts a path below a base that may already end in /v1.
func join(base, path string) string {
	if strings.HasSuffix(base, "/v1") && strings.HasPrefix(path, "/v1/") {
		path = strings.TrimPrefix(path, "/v1")
	}
	return base + path
}
