package run

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/org/agentx-action/pkg/engine/scrape"
)

// told is what the engine tells of itself beside its metrics; empty where it
// doesn't.
type told struct{ name, version string }

// identify asks the engines, once, for their version: it belongs to the identity of
// a result. Several that differ are all named.
func (s *session) identify(ctx context.Context) {
	s.told = told{name: s.ownedBy()}
	targets, err := s.engineTargets()
	if err != nil || s.Sim != nil || s.scraper.routerOnly() {
		return // a router tells its own version, or one engine's of many
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	client := s.asideClient()
	found := make([]told, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() { found[i] = askVersion(ctx, client, t, s.Client.APIKey) })
	}
	all.Wait()
	var versions []string
	for _, f := range found {
		if f.version == "" {
			return // half of the truth would look like all of it
		}
		versions = append(versions, f.version)
		if s.told.name == "" {
			s.told.name = f.name
		}
	}
	slices.Sort(versions)
	s.told.version = strings.Join(slices.Compact(versions), ", ")
}

// versionTimeout bounds the whole of it: a run doesn't wait for what is only told.
const versionTimeout = 5 * time.Second

// owners are the names under which engines list their models (owned_by), by which
// they are known where there are no metrics.
var owners = []string{string(scrape.VLLM), string(scrape.SGLang), string(scrape.TensorRTLLM), string(scrape.ATOM)}

func (s *session) ownedBy() string {
	if s.served != nil && slices.Contains(owners, s.served.OwnedBy) {
		return s.served.OwnedBy
	}
	return ""
}

// askVersion reads the page of vLLM and TensorRT-LLM, or SGLang's by its newer and
// its older name. Only the latter tell whose they are.
func askVersion(ctx context.Context, client *http.Client, t engineTarget, key string) told {
	kind := scrape.Unknown
	if len(t.recorders) > 0 {
		kind = t.recorders[0].Last().Engine
	}
	if kind != scrape.SGLang {
		if v, err := versionAt(ctx, client, t.base+"/version", key); err == nil {
			return told{version: v}
		}
	}
	for _, page := range []string{"/server_info", "/get_server_info"} {
		if v, err := versionAt(ctx, client, t.base+page, key); err == nil {
			return told{string(scrape.SGLang), v}
		}
	}
	return told{}
}

const (
	maxVersionPage = 4 << 20 // SGLang's holds all of its settings
	maxVersion     = 100     // bytes
)

var errNoVersion = errors.New("no version there")

// versionAt is the member "version" of the object at a page.
func versionAt(ctx context.Context, client *http.Client, page, key string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxVersionPage+1))
	if err != nil || resp.StatusCode != http.StatusOK || len(text) > maxVersionPage {
		return "", errNoVersion
	}
	var told struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &told, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return "", err
	}
	odd := strings.ContainsFunc(told.Version, func(r rune) bool { return !unicode.IsGraphic(r) || r == unicode.ReplacementChar })
	if told.Version == "" || len(told.Version) > maxVersion || odd {
		return "", errNoVersion
	}
	return told.Version, nil
}
