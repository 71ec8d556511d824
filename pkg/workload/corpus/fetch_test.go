package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/workload/corpus/hubtest"
)

const setName = "semianalysis_cc_traces_weka_062126_256k"

// told collects what is said.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (s *told) tell(line string, passing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *told) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// fetching is one into a new cache, that neither waits nor is silent for long.
func fetching(t *testing.T) (*loading, *told) {
	t.Helper()
	t.Setenv("AGENTX_CACHE", filepath.Join(t.TempDir(), "cache"))
	return again(t)
}

// again is one more into the same.
func again(t *testing.T) (*loading, *told) {
	t.Helper()
	set, err := Public(setName)
	if err != nil {
		t.Fatal(err)
	}
	file, err := set.File()
	if err != nil {
		t.Fatal(err)
	}
	said := new(told)
	l, err := newLoading(set, file, Fetching{Tell: said.tell})
	if err != nil {
		t.Fatal(err)
	}
	l.pause = time.Millisecond
	return l, said
}

func sumText(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// beside are the other files of the set's folder.
func beside(t *testing.T, l *loading) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(l.file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); name != "traces.jsonl" && name != "traces.jsonl.lock" {
			names = append(names, name)
		}
	}
	return names
}

// holds fails unless the file has the content, and nothing is left beside it.
func holds(t *testing.T, l *loading, content []byte) {
	t.Helper()
	got, err := os.ReadFile(l.file)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(content))
	}
	if names := beside(t, l); len(names) != 1 || names[0] != "traces.jsonl.origin" {
		t.Errorf("beside it lie %q", names)
	}
}

// ranges are those that the content was asked for in.
func ranges(h *hubtest.Hub) (list []string) {
	for _, s := range h.Seen() {
		if s.Method == http.MethodGet && s.CDN != h.Small {
			list = append(list, s.Range)
		}
	}
	return list
}

func TestFetchesWhatIsMissing(t *testing.T) {
	h := hubtest.Start(t, hubtest.Traces(3))
	t.Setenv("HF_TOKEN", " canary-token\n")
	cache := t.TempDir()
	t.Chdir(cache)
	t.Setenv("AGENTX_CACHE", "here") // counts from the current folder
	set, _ := Public(setName)
	said := new(told)

	c, err := set.Open(t.Context(), Options{}, Fetching{Tell: said.tell})
	if err != nil || len(c.Traces) != 3 || c.Name != set.Name || c.Revision != hubtest.Commit {
		t.Fatalf("%+v, %v", c, err)
	}
	file, from, err := set.Fetch(t.Context(), Fetching{})
	if err != nil || file != filepath.Join("here", setName, "traces.jsonl") {
		t.Fatal(file, err)
	}
	if from.FetchedAt.IsZero() {
		t.Error("no time of fetching")
	}
	from.FetchedAt = time.Time{}
	if want := (Origin{Name: set.Name, Dataset: set.Dataset, Revision: hubtest.Commit, SHA256: sumText(h.Content), Bytes: int64(len(h.Content))}); from != want {
		t.Errorf("%+v", from)
	}
	if _, err := os.Stat(filepath.Join(cache, file)); err != nil {
		t.Error(err)
	}

	path := "/datasets/" + set.Dataset + "/resolve/"
	seen := h.Seen()
	if len(seen) != 3 || seen[0].Method != http.MethodHead || seen[0].Path != path+"main/traces.jsonl" || seen[1].Path != path+hubtest.Commit+"/traces.jsonl" || !seen[2].CDN {
		t.Errorf("%+v", seen)
	}
	for _, s := range seen {
		if want := map[bool]string{false: "Bearer canary-token"}[s.CDN]; s.Authorization != want {
			t.Errorf("%+v", s)
		}
	}
	if text := said.String(); strings.Contains(text, "canary") || !strings.Contains(text, hubtest.Commit) || !strings.Contains(text, file) {
		t.Error(text)
	}
}

func TestFetchTellsHowFarItIs(t *testing.T) {
	h := hubtest.Start(t, hubtest.Traces(30_000))
	l, said := fetching(t)
	l.Every = time.Nanosecond
	if err := l.fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, l, h.Content)
	if whole := megabytes(int64(len(h.Content))); !strings.Contains(said.String(), whole+" of "+whole) {
		t.Error(said)
	}
}

func TestFetchGoesOnAfterACut(t *testing.T) {
	content := hubtest.Traces(2000)
	for name, c := range map[string]struct {
		hub    func(*hubtest.Hub)
		ranges []string
	}{
		"resumed":                {func(*hubtest.Hub) {}, []string{"", "bytes=1000-", "bytes=3000-"}},
		"ranges not known":       {func(h *hubtest.Hub) { h.Whole = true }, []string{"", "bytes=1000-", "bytes=2000-"}},
		"length not told":        {func(h *hubtest.Hub) { h.Unknown = true }, []string{"", "bytes=1000-", "bytes=3000-"}},
		"no sum, so not spliced": {func(h *hubtest.Hub) { h.Small = true }, []string{"", "", ""}},
		"address expired": {func(h *hubtest.Hub) {
			refused := false
			h.CDN = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Range") != "bytes=3000-" || refused {
					return false
				}
				refused = true
				http.Error(w, "Request has expired", http.StatusForbidden)
				return true
			}
		}, []string{"", "bytes=1000-", "bytes=3000-", "bytes=3000-"}},
		"the endpoint stumbles": {func(h *hubtest.Hub) {
			n := 0
			h.Endpoint = func(w http.ResponseWriter, r *http.Request) bool {
				if n++; n > 2 {
					return false
				}
				http.Error(w, "", http.StatusBadGateway)
				return true
			}
		}, []string{"", "bytes=1000-", "bytes=3000-"}},
		"other bytes than asked for": {func(h *hubtest.Hub) {
			h.CDN = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Range") != "bytes=1000-" {
					return false
				}
				w.Header().Set("Content-Range", "bytes 0-9/100000")
				w.WriteHeader(http.StatusPartialContent)
				return true
			}
		}, []string{"", "bytes=1000-", "", "bytes=2000-"}},
		"fewer bytes than are here": {func(h *hubtest.Hub) {
			h.CDN = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Range") != "bytes=1000-" {
					return false
				}
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return true
			}
		}, []string{"", "bytes=1000-", "", "bytes=2000-"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := hubtest.Start(t, content)
			h.Cut = func(n int) int { return []int{1000, 2000, -1, -1, -1}[n] }
			c.hub(h)
			l, said := fetching(t)
			if err := l.fetch(t.Context()); err != nil {
				t.Fatal(err)
			}
			holds(t, l, content)
			if got := ranges(h); fmt.Sprint(got) != fmt.Sprint(c.ranges) {
				t.Errorf("%q\n%v", got, said)
			}
		})
	}
}

func TestFetchGoesOnFromAnEarlierProcess(t *testing.T) {
	h := hubtest.Start(t, hubtest.Traces(2000))
	h.Cut = func(n int) int { return map[bool]int{true: 700, false: -1}[n < tries] }
	l, _ := fetching(t)
	if err := l.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "cut") || strings.Contains(err.Error(), "canary") {
		t.Fatal(err)
	}
	if there(l.file) {
		t.Error("a half file has the whole one's name")
	}
	l, said := again(t)
	if err := l.fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, l, h.Content)
	if got := ranges(h); got[len(got)-1] != "bytes=3500-" || !strings.Contains(said.String(), "going on from") {
		t.Errorf("%q\n%v", got, said)
	}
}

// What another process left may be spoilt: it is tried once more without it.
func TestFetchDoesNotTrustWhatLiesThere(t *testing.T) {
	h := hubtest.Start(t, hubtest.Traces(100))
	for name, left := range map[string][]byte{
		"other bytes": bytes.Repeat([]byte("x"), 500), "whole, but other bytes": bytes.Repeat([]byte("x"), len(h.Content)), "too many": bytes.Repeat([]byte("x"), len(h.Content)+1),
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := fetching(t)
			if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(l.file+"."+sumText(h.Content)+".part", left, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(l.file+"."+sumText(nil)+".part", left, 0o600); err != nil { // of an earlier revision
				t.Fatal(err)
			}
			if err := l.fetch(t.Context()); err != nil {
				t.Fatal(err)
			}
			holds(t, l, h.Content)
		})
	}
}

func TestFetchRefuses(t *testing.T) {
	status := func(code int, errorCode string) func(*hubtest.Hub) {
		return func(h *hubtest.Hub) {
			h.Endpoint = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("X-Error-Code", errorCode)
				http.Error(w, "::error::what a server writes is not shown", code)
				return true
			}
		}
	}
	body := func(kind, text string) func(*hubtest.Hub) {
		return func(h *hubtest.Hub) {
			h.Small = true
			h.Endpoint = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Content-Type", kind)
				fmt.Fprint(w, text)
				return true
			}
		}
	}
	for name, c := range map[string]struct {
		hub   func(*hubtest.Hub)
		token string
		want  string
		tries int
	}{
		"other sum":          {func(h *hubtest.Hub) { h.SHA256 = sumText(nil) }, "", "what came is not the file", 1},
		"longer than told":   {func(h *hubtest.Hub) { h.Bytes = 100 }, "", "what came is not the file (101 bytes", 1},
		"shorter than told":  {func(h *hubtest.Hub) { h.Bytes = 1e6 }, "", "the content ended after 0.0 MB of 1.0 MB", tries},
		"told too large":     {func(h *hubtest.Hub) { h.Bytes = 1e10 }, "", "larger than 1.0 MB", 0},
		"too large":          {func(h *hubtest.Hub) { h.Unknown = true; h.Content = hubtest.Traces(20_000) }, "", "larger than 1.0 MB", 1},
		"gated":              {status(http.StatusUnauthorized, "GatedRepo"), "", "set HF_TOKEN to a token of an account that may read it", 0},
		"gated for it":       {status(http.StatusForbidden, "GatedRepo"), "canary-token", "the account of HF_TOKEN may not read", 0},
		"no file":            {status(http.StatusNotFound, "EntryNotFound"), "", `has no traces.jsonl at revision "main"`, 0},
		"no revision":        {status(http.StatusNotFound, "RevisionNotFound"), "", `has no revision "main"`, 0},
		"no dataset":         {status(http.StatusNotFound, "RepoNotFound"), "", "there is no dataset semianalysisai/", 0},
		"fault":              {status(http.StatusInternalServerError, ""), "", "500 Internal Server Error", 0},
		"busy":               {status(http.StatusTooManyRequests, ""), "", "429 Too Many Requests", 0},
		"page":               {body("text/html; charset=utf-8", "<html>"), "", "a web page", 0},
		"page, called other": {body("text/plain", "<html>"), "", `begins with "<html>"`, 0},
		"pointer":            {body("text/plain", "version https://git-lfs.github.com/spec/v1\n"), "", `begins with "version`, 0},
		"nothing":            {body("text/plain", ""), "", `begins with ""`, 0},
		"no answer to the signed address": {func(h *hubtest.Hub) {
			h.CDN = func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
		}, "", ": EOF", 0},
		"circles": {func(h *hubtest.Hub) {
			h.Endpoint = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
				return true
			}
		}, "", "redirects in circles", 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := hubtest.Start(t, hubtest.Traces(50))
			c.hub(h)
			t.Setenv("HF_TOKEN", c.token)
			l, said := fetching(t)
			l.most = 1e6
			err := l.fetch(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "::") {
				t.Errorf("%v\n%v", err, said)
			}
			if there(l.file) {
				t.Error("the file is there")
			}
			if got := len(ranges(h)); c.tries > 0 && got != c.tries {
				t.Errorf("asked %d times for the content", got)
			}
			if names := beside(t, l); len(names) > 0 && name != "shorter than told" { // a later one may go on
				t.Errorf("left %q", names)
			}
		})
	}
}

func TestFetchFromSilence(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	for name, amid := range map[string]bool{"of the endpoint": false, "amid the content": true} {
		t.Run(name, func(t *testing.T) {
			h := hubtest.Start(t, hubtest.Traces(50))
			silent := func(w http.ResponseWriter, r *http.Request) bool {
				if amid {
					w.Header().Set("Content-Length", "1000")
					fmt.Fprint(w, "{")
					_ = http.NewResponseController(w).Flush()
				}
				select {
				case <-done:
				case <-r.Context().Done():
				}
				return true
			}
			if amid {
				h.CDN = silent
			} else {
				h.Endpoint = silent
			}
			l, _ := fetching(t)
			l.hub.silence = 20 * time.Millisecond
			if err := l.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing came for") {
				t.Error(err)
			}
		})
	}
}

func TestFetchIsCancelled(t *testing.T) {
	h := hubtest.Start(t, hubtest.Traces(50))
	ctx, cancel := context.WithCancel(t.Context())
	h.CDN = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(h.Content)))
		_, _ = w.Write(h.Content[:1000])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	}
	t.Setenv("AGENTX_CACHE", t.TempDir())
	set, _ := Public(setName)
	file, _ := set.File()
	stop := Fetching{Every: time.Nanosecond, Tell: func(_ string, passing bool) {
		if passing {
			cancel() // once something has come
		}
	}}
	_, err := set.Open(ctx, Options{}, stop)
	var unfetched *FetchError
	if !errors.As(err, &unfetched) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "cancelled while the corpus") {
		t.Error(err)
	}
	if there(file) {
		t.Error("a half file has the whole one's name")
	}
	h.CDN = nil
	if _, _, err := set.Fetch(t.Context(), Fetching{}); err != nil {
		t.Error(err)
	}
	if got := ranges(h); len(got) != 2 || got[1] != "bytes=1000-" {
		t.Errorf("%q", got)
	}
}

func TestFetchTwiceAtOnce(t *testing.T) {
	h := hubtest.Start(t, hubtest.Traces(500))
	for name, locks := range map[string]bool{"waiting for the other": true, "without locks": false} {
		t.Run(name, func(t *testing.T) {
			if locks && runtime.GOOS == "windows" {
				t.Skip("no locks here")
			}
			first, _ := fetching(t)
			second, said := again(t)
			before := len(ranges(h))
			var waits, enters sync.Once
			waiting, entered := make(chan struct{}), make(chan struct{})
			second.Tell = func(line string, passing bool) {
				said.tell(line, passing)
				waits.Do(func() { close(waiting) })
			}
			h.CDN = func(w http.ResponseWriter, r *http.Request) bool {
				enters.Do(func() { // the first holds the lock until the second waits for it
					close(entered)
					if locks {
						<-waiting
					}
				})
				return false
			}
			run := func(l *loading) error {
				if locks {
					return l.fetch(t.Context())
				}
				if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
					return err
				}
				return l.load(t.Context())
			}
			errs := make(chan error)
			go func() { errs <- run(first) }()
			<-entered
			go func() { errs <- run(second) }()
			for range 2 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			holds(t, first, h.Content)
			if got := len(ranges(h)) - before; locks != (got == 1) {
				t.Errorf("fetched %d times\n%v", got, said)
			}
		})
	}
}

func TestFetchOntoAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no device that is always full")
	}
	h := hubtest.Start(t, hubtest.Traces(50))
	l, _ := fetching(t)
	if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", l.file+"."+sumText(h.Content)+".part"); err != nil {
		t.Fatal(err)
	}
	if err := l.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk of "+filepath.Dir(l.file)+" is full") {
		t.Error(err)
	}
	if names := beside(t, l); len(names) > 0 || len(ranges(h)) != 1 {
		t.Errorf("left %q, %+v", names, h.Seen())
	}
}

func TestFetchOffline(t *testing.T) {
	h := hubtest.Start(t, hubtest.Traces(1))
	t.Setenv("AGENTX_CACHE", t.TempDir())
	set, _ := Public(setName)
	for _, on := range []string{"1", "true", "YES", "on"} {
		t.Setenv("HF_HUB_OFFLINE", on)
		_, err := set.Open(t.Context(), Options{}, Fetching{})
		_, missing := set.Missing()
		for _, err := range []error{err, missing} {
			if err == nil || !strings.Contains(err.Error(), "HF_HUB_OFFLINE") || !strings.Contains(err.Error(), "put traces.jsonl of https://huggingface.co/datasets/"+set.Dataset) {
				t.Error(on, err)
			}
		}
	}
	t.Setenv("HF_HUB_OFFLINE", "0")
	if what, err := set.Missing(); err != nil || !strings.Contains(what, h.URL+"/datasets/"+set.Dataset+"/resolve/main/traces.jsonl is fetched to ") {
		t.Error(what, err)
	}
	if seen := h.Seen(); len(seen) > 0 {
		t.Errorf("%+v", seen)
	}
}

func TestFetchWithOddSettings(t *testing.T) {
	h := hubtest.Start(t, hubtest.Traces(1))
	t.Setenv("AGENTX_CACHE", t.TempDir())
	set, _ := Public(setName)
	for _, endpoint := range []string{"huggingface.co", "ftp://huggingface.co", "https://", "::"} {
		t.Setenv("HF_ENDPOINT", endpoint)
		if _, err := set.Open(t.Context(), Options{}, Fetching{}); err == nil || !strings.Contains(err.Error(), "HF_ENDPOINT is no address") {
			t.Error(endpoint, err)
		}
	}
	t.Setenv("HF_ENDPOINT", strings.Replace(h.URL, "http://", "http://me:canary@", 1)+"/")
	if what, err := set.Missing(); err != nil || strings.Contains(what, "canary") {
		t.Error(what, err)
	}
	if _, err := set.Open(t.Context(), Options{Entries: -1}, Fetching{}); err == nil || len(h.Seen()) > 0 {
		t.Errorf("bad options: %v, %+v", err, h.Seen())
	}
	if _, _, err := set.Fetch(t.Context(), Fetching{Revision: "v1/a"}); err != nil || h.Seen()[0].Path != "/datasets/"+set.Dataset+"/resolve/v1/a/traces.jsonl" {
		t.Errorf("%v, %+v", err, h.Seen())
	}
	if _, _, err := set.Fetch(t.Context(), Fetching{Revision: strings.Repeat("a", 40)}); err == nil || !strings.Contains(err.Error(), "is of revision "+hubtest.Commit) {
		t.Error(err)
	}
}

// A file that somebody put there has no revision, nor has one that is no longer what
// was fetched.
func TestRevisionIsOfTheFileThatIsThere(t *testing.T) {
	h := hubtest.Start(t, hubtest.Traces(2))
	l, _ := fetching(t)
	if err := l.fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.file, hubtest.Traces(1), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := l.set.Open(t.Context(), Options{}, Fetching{})
	if err != nil || c.Revision != "" || len(c.Traces) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	_, from, err := l.set.Fetch(t.Context(), Fetching{})
	if want := hubtest.Traces(1); err != nil || from.Revision != "" || from.SHA256 != sumText(want) || from.Bytes != int64(len(want)) || !from.FetchedAt.IsZero() {
		t.Errorf("%+v, %v", from, err)
	}
	if n := len(h.Seen()); n != 3 {
		t.Errorf("asked %d times", n)
	}
}

func TestTheTokenStaysAtTheEndpoint(t *testing.T) {
	t.Setenv("HF_ENDPOINT", "https://hub.example")
	h, err := newHub()
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"https://hub.example/a": true, "https://HUB.example:443/a": true, "http://hub.example/a": false, "https://cdn.hub.example/a": false,
		"https://hub.example:8443/a": false, "https://hub.example.evil/a": false, "https://hub.example@evil/a": false,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if h.own(r.URL) != want {
			t.Error(address)
		}
	}
	from, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://hub.example", nil)
	to, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hub.example", nil)
	if err := mayFollow(to, []*http.Request{from}); !isFinal(err) {
		t.Error(err)
	}
}

func TestFetchThroughAProxy(t *testing.T) {
	h := hubtest.Start(t, hubtest.Traces(1))
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Host)
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		w.Header().Set("Location", h.URL+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer proxy.Close()
	t.Setenv("NO_PROXY", "")
	t.Setenv("HF_ENDPOINT", "http://hub.invalid")
	t.Setenv("HTTP_PROXY", proxy.URL)
	l, _ := fetching(t)
	if err := l.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "the proxy wants a name and a password") {
		t.Error(err)
	}
	t.Setenv("HTTP_PROXY", strings.Replace(proxy.URL, "://", "://me:canary@", 1))
	l, said := again(t)
	if err := l.fetch(t.Context()); err != nil || strings.Contains(said.String(), "canary") {
		t.Error(err, said)
	}
	holds(t, l, h.Content)
	for _, host := range asked {
		if host != "hub.invalid" {
			t.Errorf("%q", asked)
		}
	}
}
