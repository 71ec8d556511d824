// Package hubtest is Hugging Face as far as fetching one file of a dataset needs it:
// an endpoint that says what the file is and points to where its content lies, on
// another host, for tests.
package hubtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Commit is what every revision resolves to.
const Commit = "0123456789abcdef0123456789abcdef01234567"

// Seen is a request that came in.
type Seen struct {
	CDN           bool // else the endpoint
	Method        string
	Path          string
	Range         string
	Authorization string
}

// Hub is the server. Its fields are set before it is asked.
type Hub struct {
	URL     string // of the endpoint
	Close   func()
	Content []byte
	SHA256  string // that it claims; the content's own unless set
	Bytes   int64  // likewise

	Small   bool // the content lies on the endpoint, which gives it no sum
	Unknown bool // its length is not told
	Whole   bool // ranges are not understood

	// Endpoint and CDN may answer in the place of the server; they report whether they did.
	Endpoint, CDN func(w http.ResponseWriter, r *http.Request) bool
	// Cut is after how many bytes of the n-th answer with content the connection is cut;
	// negative, or no function, is never.
	Cut func(n int) int

	mu      sync.Mutex
	seen    []Seen
	answers int
}

// New starts it; Close is to be called.
func New(content []byte) *Hub {
	h := &Hub{Content: content}
	cdn := httptest.NewServer(http.HandlerFunc(h.cdn))
	endpoint := httptest.NewServer(h.endpoint(cdn.URL))
	h.URL, h.Close = endpoint.URL, func() {
		endpoint.Close()
		cdn.Close()
	}
	return h
}

// Start starts it for a test, and points HF_ENDPOINT there.
func Start(t *testing.T, content []byte) *Hub {
	t.Helper()
	h := New(content)
	t.Cleanup(h.Close)
	for name, value := range map[string]string{"HF_ENDPOINT": h.URL, "HF_TOKEN": "", "HF_HUB_OFFLINE": ""} {
		t.Setenv(name, value)
	}
	return h
}

// Seen is what came in so far.
func (h *Hub) Seen() []Seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Seen(nil), h.seen...)
}

func (h *Hub) note(r *http.Request, cdn bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, Seen{cdn, r.Method, r.URL.Path, r.Header.Get("Range"), r.Header.Get("Authorization")})
}

func (h *Hub) endpoint(cdn string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h.note(r, false)
		if h.Endpoint != nil && h.Endpoint(w, r) {
			return
		}
		w.Header().Set("X-Repo-Commit", Commit)
		if h.Small {
			w.Header().Set("ETag", `"`+Commit+`"`) // git's hash of the file looks the same
			h.content(w, r)
			return
		}
		sum, size := h.SHA256, h.Bytes
		if sum == "" {
			of := sha256.Sum256(h.Content)
			sum = hex.EncodeToString(of[:])
		}
		if size == 0 {
			size = int64(len(h.Content))
		}
		w.Header().Set("X-Linked-Etag", `"`+sum+`"`)
		if !h.Unknown {
			w.Header().Set("X-Linked-Size", strconv.FormatInt(size, 10))
		}
		w.Header().Set("Location", cdn+"/"+sum+"?Signature=canary-signature")
		w.WriteHeader(http.StatusFound)
	}
}

func (h *Hub) cdn(w http.ResponseWriter, r *http.Request) {
	h.note(r, true)
	if h.CDN == nil || !h.CDN(w, r) {
		h.content(w, r)
	}
}

func (h *Hub) content(w http.ResponseWriter, r *http.Request) {
	if h.Whole {
		r.Header.Del("Range")
	}
	if r.Method == http.MethodGet {
		h.mu.Lock()
		n := h.answers
		h.answers++
		h.mu.Unlock()
		if h.Cut != nil {
			if after := h.Cut(n); after >= 0 {
				w = &cutting{ResponseWriter: w, left: after}
			}
		}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if h.Unknown && r.Header.Get("Range") == "" {
		_, _ = w.Write(h.Content)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(h.Content))
}

// cutting ends the connection amid a body.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	if len(p) < c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	_, _ = c.ResponseWriter.Write(p[:c.left])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// Unwrap is for the controller.
func (c *cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Traces are n small traces, a line each.
func Traces(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"t%d","block_size":64,"hash_id_scope":"local","requests":[{"t":0,"type":"n","model":"m","in":130,"out":3,"hash_ids":[1,2],"api_time":0.1}]}`+"\n", i)
	}
	return []byte(b.String())
}
