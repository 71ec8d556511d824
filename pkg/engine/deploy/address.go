package deploy

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// address holds the pages of an engine. What is below the base follows
// pkg/load/openai, so that readiness asks where the load will.
type address struct {
	health, models, completion string
	chat                       bool
}

func newAddress(raw, endpoint, health string) (address, error) {
	u, err := parseURL(raw)
	if err != nil {
		return address{}, err
	}
	whole := strings.TrimRight(u.Path, "/")
	below, given := strings.CutSuffix(whole, "/chat/completions")
	if !given {
		below, given = strings.CutSuffix(whole, "/completions")
	}
	below = strings.TrimSuffix(below, "/v1")
	at := func(path, query string) string {
		v := *u
		v.Path, v.RawPath, v.RawQuery = path, "", query
		return v.String()
	}
	path := below + "/v1/chat/completions"
	switch {
	case endpoint != "":
		path = below + "/" + strings.TrimLeft(endpoint, "/")
	case given:
		path = whole
	}
	if health == "" {
		health = "/health"
	}
	return address{
		health:     at(below+"/"+strings.TrimLeft(health, "/"), ""),
		models:     at(below+"/v1/models", ""),
		completion: at(path, u.RawQuery),
		chat:       strings.Contains(path, "/chat"),
	}, nil
}

func parseURL(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("the engine's URL can't be read; it looks like http://127.0.0.1:8000")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("engine URL %s: give http:// or https:// and a host", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("engine URL %s holds a user name; give credentials as an API key", u.Redacted())
	}
	u.Fragment = ""
	return u, nil
}
