package store

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http/httpproxy"
)

var quietLog = log.New(io.Discard, "", 0)

func random(n int) []byte {
	text := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(text) // never fails
	return text
}

// What every store does alike.
func TestStores(t *testing.T) {
	stores(t, func(t *testing.T, s Store) {
		ctx := t.Context()
		if _, err := s.Head(ctx, "a/b"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
		if _, err := s.Get(ctx, "a/b"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
		if got := names(t, s, "a", true); len(got) > 0 {
			t.Errorf("%v", got)
		}
		large := random(testParts + 12345) // sent in parts
		objects := map[string][]byte{"a/b": []byte("text"), "a/empty": {}, "a/c/large": large, "a/c/d/e =é+%&?#.json": []byte("{}"), "ab": []byte("beside")}
		for name, text := range objects {
			check(t, s.Put(ctx, name, sourceOf(text)))
		}
		for name, text := range objects {
			got, err := readAll(ctx, s, name, int64(len(text)))
			check(t, err)
			if !bytes.Equal(got, text) {
				t.Errorf("%s: %d bytes, want %d", name, len(got), len(text))
			}
			o, err := s.Head(ctx, name)
			check(t, err)
			if want := (Object{Name: name, Size: int64(len(text)), SHA256: sourceOf(text).SHA256}); o != want {
				t.Errorf("%+v, want %+v", o, want)
			}
			if len(text) > 0 {
				if _, err := readAll(ctx, s, name, int64(len(text))-1); err == nil {
					t.Errorf("%s: more than asked for", name)
				}
			}
		}
		for deep, want := range map[bool][]string{true: {"a/b", "a/c/d/e =é+%&?#.json", "a/c/large", "a/empty"}, false: {"a/b", "a/c/", "a/empty"}} {
			got := names(t, s, "a", deep)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		for range s.List(ctx, "a", true) {
			break // whoever has enough may leave
		}
		// Nothing is overwritten, large or small.
		for name, text := range objects {
			if err := s.Put(ctx, name, sourceOf(append([]byte("other"), text...))); !errors.Is(err, ErrExists) {
				t.Errorf("%s: %v", name, err)
			}
			if got, err := readAll(ctx, s, name, 1<<30); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s changed: %v", name, err)
			}
		}
		for _, name := range []string{"", ".", "..", "../x", "/x", "a//b", "a/./b", `a\b`, "a\x00"} {
			if err := s.Put(ctx, name, sourceOf(nil)); err == nil {
				t.Errorf("%q was written", name)
			}
			if _, err := s.Get(ctx, name); err == nil || errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %v", name, err)
			}
		}
		if err := s.Put(cancelled(t), "late", sourceOf([]byte("x"))); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// What changed after it was hashed does not become an object, whichever hash is known.
func TestStoresRefuseWhatChanged(t *testing.T) {
	another := sourceOf([]byte("another"))
	stores(t, func(t *testing.T, s Store) {
		for name, text := range map[string][]byte{"small": []byte("text"), "empty": {}, "middle": random(signedUpTo + 1), "large": random(testParts + 1)} {
			crc, sha := sourceOf(text), sourceOf(text)
			crc.CRC32C = another.CRC32C
			sha.CRC32C, sha.SHA256 = "", another.SHA256
			shorter := sourceOf(text)
			shorter.Size++
			for what, from := range map[string]Source{"crc32c": crc, "sha256": sha, "fewer": shorter} {
				if err := s.Put(t.Context(), name, from); !errors.Is(err, errChanged) || !strings.Contains(err.Error(), what) {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
			if _, err := s.Head(t.Context(), name); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s is there: %v", name, err)
			}
			old := sourceOf(text) // of a manifest of a version without it
			old.CRC32C = ""
			check(t, s.Put(t.Context(), name, old))
			if got, err := readAll(t.Context(), s, name, old.Size); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
	})
}

// What changes on its way does not become an object either: the store holds it against
// the checksum, or the signed hash where it takes no checksums.
func TestStoreRefusesWhatArrivesChanged(t *testing.T) {
	g := startGateway(t)
	var sent atomic.Int32
	for name, n := range map[string]int{"small": 1000, "middle": signedUpTo + 1, "large": testParts + 1} {
		for _, plain := range []bool{false, true} {
			if plain && name == "large" {
				continue // its parts are held against the manifest by who reads them
			}
			s := openAt(t, through(t, g.url, func(_ http.ResponseWriter, r *http.Request) bool {
				if r.ContentLength > 500 {
					r.Body = &flipped{r.Body, 300}
					sent.Add(1)
				}
				return false
			}), Options{})
			sent.Store(0)
			s.(*bucket).noChecksums.Store(plain)
			if err := s.Put(t.Context(), name, sourceOf(random(n))); err == nil || !strings.Contains(err.Error(), "HTTP 400") {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := s.Head(t.Context(), name); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s is there: %v", name, err)
			}
			if s.(*bucket).noChecksums.Load() != plain {
				t.Errorf("%s: the store is taken for one that knows no checksums", name)
			}
			if name != "large" && sent.Load() != 2 {
				t.Errorf("%s: sent %d times, want one repeat", name, sent.Load())
			}
		}
	}
}

// A body that was cut off goes out again from its beginning, and is held against its hash
// again.
func TestBodyIsSentAgain(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	fake := fakeS3(t)
	text := random(2 << 20)
	var n int
	var between func()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			fake.ServeHTTP(w, r)
			return
		}
		switch n++; n {
		case 1: // refused in its middle
			_, _ = io.CopyN(io.Discard, r.Body, 1<<20) // whatever comes
			refuse(w, 503, "SlowDown", "please")
		case 2: // cut off after its end
			_, _ = io.Copy(io.Discard, r.Body) // as above
			between()
			panic(http.ErrAbortHandler)
		default:
			fake.ServeHTTP(w, r)
		}
	}), Options{MaxAttempts: 5})
	s.(*bucket).probed.Store(true)
	between = func() {}
	check(t, s.Put(t.Context(), "a", sourceOf(text)))
	if got, err := readAll(t.Context(), s, "a", 3<<20); err != nil || !bytes.Equal(got, text) || n != 3 {
		t.Errorf("%d bytes, %v, %d requests", len(got), err, n)
	}
	n = 0
	between = func() { text[1<<20] ^= 1 }
	if err := s.Put(t.Context(), "b", sourceOf(text)); !errors.Is(err, errChanged) || n > 3 { // of the third the server may see nothing
		t.Errorf("%v after %d requests", err, n)
	}
	if _, err := s.Head(t.Context(), "b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("it is there: %v", err)
	}
}

// A proxy before a store may take no large requests: then it goes in parts.
func TestProxyThatTakesNoLargeRequests(t *testing.T) {
	g := startGateway(t)
	s := openAt(t, through(t, g.url, func(w http.ResponseWriter, r *http.Request) bool {
		if r.ContentLength > 10<<20 {
			_, _ = io.Copy(io.Discard, r.Body) // as nginx does for a while, so that the answer is read
			http.Error(w, "Request Entity Too Large", http.StatusRequestEntityTooLarge)
			return true
		}
		return false
	}), Options{})
	text := random(12 << 20)
	check(t, s.Put(t.Context(), "a", sourceOf(text)))
	if got, err := readAll(t.Context(), s, "a", 12<<20); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := s.Put(t.Context(), "a", sourceOf(text)); !errors.Is(err, ErrExists) {
		t.Errorf("again: %v", err)
	}
}

// Near stores get larger requests than far ones.
func TestPartsFrom(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	for endpoint, want := range map[string]int64{"": partsFrom, "https://minio:9000": partsFrom, "http://minio:9000": partsFromNear} {
		s, err := Open(t.Context(), "s3://b", Options{Endpoint: endpoint})
		check(t, err)
		if got := s.(*bucket).partsFrom.Load(); got != want {
			t.Errorf("%q: %d, want %d", endpoint, got, want)
		}
	}
}

// flipped changes a bit after so many bytes.
type flipped struct {
	io.ReadCloser
	after int
}

func (f *flipped) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if f.after >= 0 && f.after < n {
		p[f.after] ^= 1
	}
	f.after -= n
	return n, err
}

// With TLS too an object in one request has its length and its checksum ahead of it.
func TestWholeOverTLS(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	fake := fakeS3(t)
	seen := map[string]http.Header{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			seen[r.URL.Path] = r.Header.Clone()
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	check(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	t.Setenv("AWS_CA_BUNDLE", ca)
	s := openAt(t, server.URL, Options{})
	for name, n := range map[string]int{"small": 1000, "middle": signedUpTo + 1} {
		from := sourceOf(random(n))
		check(t, s.Put(t.Context(), name, from))
		h, want := seen["/results/a/prefix/"+name], from.SHA256
		if n > signedUpTo {
			want = unsigned
		}
		if got := h.Get("X-Amz-Content-Sha256"); got != want || h.Get("Content-Length") != strconv.Itoa(n) || h.Get("X-Amz-Checksum-Crc32c") == "" || h.Get("X-Amz-Trailer") != "" {
			t.Errorf("%s: signed %q of %q, %v", name, got, want, h)
		}
		if got, err := readAll(t.Context(), s, name, from.Size); err != nil || len(got) != n {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// Of several who write one object at once, one does.
func TestStoresHaveOneWinner(t *testing.T) {
	stores(t, func(t *testing.T, s Store) {
		check(t, s.Put(t.Context(), "first", sourceOf([]byte("x")))) // what the store can is known
		var group sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			group.Go(func() { errs[i] = s.Put(t.Context(), "one", sourceOf(bytes.Repeat([]byte{byte('a' + i)}, 1000))) })
		}
		group.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won < 0:
				won = i
			case !errors.Is(err, ErrExists):
				t.Errorf("%d: %v", i, err)
			}
		}
		if won < 0 {
			t.Fatal("nobody wrote it")
		}
		if got, err := readAll(t.Context(), s, "one", 1000); err != nil || got[0] != byte('a'+won) {
			t.Errorf("%d won, but %.3s lies there (%v)", won, got, err)
		}
	})
}

func TestFolderShowsNoHalfFile(t *testing.T) {
	dir := t.TempDir()
	s := openFolder(dir)
	check(t, s.Put(t.Context(), "k/a", sourceOf([]byte("x"))))
	check(t, os.WriteFile(filepath.Join(dir, "k", ".b.ABCDEFGH.tmp"), []byte("half"), 0o600)) // an uploader was killed
	check(t, os.Symlink("/etc/passwd", filepath.Join(dir, "k", "link")))
	if got := names(t, s, "k", true); len(got) != 1 {
		t.Errorf("%v", got)
	}
	for _, name := range []string{"k/.b.ABCDEFGH.tmp", "k/link", "k"} {
		if _, err := s.Get(t.Context(), name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := s.tidy(t.Context(), "k"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "k")); len(entries) != 2 || err != nil {
		t.Errorf("%v %v", entries, err)
	}
	// A folder of the store that leads elsewhere is not followed.
	check(t, os.Symlink(t.TempDir(), filepath.Join(dir, "out")))
	if err := s.Put(t.Context(), "out/x", sourceOf(nil)); err == nil {
		t.Error("written outside the store")
	}
}

func TestOpenRefuses(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	for ref, o := range map[string]Options{
		"": {}, "gs://b": {}, "s3://": {}, "s3:///x": {}, "s3://b/../c": {}, "s3://b/a//c": {}, "s3://AKIDCANARY:canary@bucket": {}, "s3://b\t": {},
		"s3://e1": {Endpoint: "minio:9000"}, "s3://e2": {Endpoint: "ftp://x"}, "s3://e3": {Endpoint: "http://canary:canary@x"},
		"s3://p": {PathStyle: "maybe"}, "s3://s": {SSE: "rot13"}, "s3://k": {KMSKeyID: "k"}, "s3://l": {KMSKeyID: "k", SSE: "AES256"},
	} {
		_, err := Open(t.Context(), ref, o)
		if err == nil {
			t.Errorf("%q %+v opened", ref, o)
			continue
		}
		noCanary(t, err.Error())
	}
}

// What the options say reaches the server.
func TestOptionsReachTheServer(t *testing.T) {
	asUser(t, testKeyID, testSecret, "canarysession")
	fake := fakeS3(t)
	var mu sync.Mutex
	seen := map[string]http.Header{}
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Method+" "+r.URL.Path+"?"+strings.SplitN(r.URL.RawQuery, "=", 2)[0]] = r.Header.Clone()
		mu.Unlock()
		fake.ServeHTTP(w, r)
	}), Options{Region: "eu-central-7", SSE: "aws:kms", KMSKeyID: "key-1", StorageClass: "STANDARD_IA"})
	check(t, s.Put(t.Context(), "small.json", sourceOf([]byte("{}"))))
	check(t, s.Put(t.Context(), "large.zst", sourceOf(random(testParts))))
	for at, kind := range map[string]string{"PUT /results/a/prefix/small.json?x-id": "application/json", "POST /results/a/prefix/large.zst?uploads": "application/zstd"} {
		h := seen[at]
		for name, want := range map[string]string{
			"X-Amz-Server-Side-Encryption": "aws:kms", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": "key-1", "X-Amz-Storage-Class": "STANDARD_IA",
			"Content-Type": kind, "X-Amz-Security-Token": "canarysession",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", at, name, got, want)
			}
		}
		if got := h.Get("Authorization"); !strings.Contains(got, "/eu-central-7/s3/") {
			t.Errorf("%s: signed %q", at, got)
		}
		if len(h.Get("X-Amz-Meta-Agentx-Sha256")) != 64 {
			t.Errorf("%s: no hash", at)
		}
	}
	if got := seen["PUT /results/a/prefix/small.json?x-id"]; got.Get("If-None-Match") != "*" || got.Get("X-Amz-Checksum-Crc32c") == "" {
		t.Errorf("no condition or no checksum: %v", got)
	}
}

// The proxy is a value, and NoProxy holds.
func TestProxy(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	fake := fakeS3(t)
	var hosts []string
	var auth string
	server := through(t, "http://127.0.0.1:1", func(w http.ResponseWriter, r *http.Request) bool {
		hosts, auth = append(hosts, r.Host), r.Header.Get("Proxy-Authorization")
		fake.ServeHTTP(w, r)
		return true
	})
	proxy := &httpproxy.Config{HTTPProxy: strings.Replace(server, "http://", "http://me:canarypassword@", 1)}
	s := openAt(t, "http://s3.test", Options{Proxy: proxy})
	check(t, s.Put(t.Context(), "a", sourceOf([]byte("x"))))
	if len(hosts) == 0 || hosts[0] != "s3.test" || auth == "" {
		t.Errorf("%v %q", hosts, auth)
	}
	proxy.NoProxy = "s3.test"
	before := len(hosts)
	err := openAt(t, "http://s3.test:9", Options{Proxy: proxy, MaxAttempts: 1}).Put(t.Context(), "b", sourceOf([]byte("x")))
	if err == nil || len(hosts) != before {
		t.Errorf("%v; the proxy saw %d more", err, len(hosts)-before)
	}
	noCanary(t, err.Error())
}

func TestRetriesHaveABudget(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	failing := func(first int) (Store, *int) {
		n, fake := 0, fakeS3(t)
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n <= first {
				refuse(w, 503, "SlowDown", "please")
				return
			}
			fake.ServeHTTP(w, r)
		}), Options{MaxAttempts: 3}), &n
	}
	s, n := failing(2)
	check(t, s.Put(t.Context(), "a", sourceOf([]byte("x"))))
	if *n < 3 {
		t.Errorf("%d attempts", *n)
	}
	s, n = failing(100)
	err := s.Put(t.Context(), "a", sourceOf([]byte("x")))
	if err == nil || *n != 3 || !strings.Contains(err.Error(), "HTTP 503") {
		t.Errorf("%d attempts: %v", *n, err)
	}
	// When nothing has succeeded for a while, nothing is repeated any more.
	now := noon
	r := newRetryer(0, time.Minute)
	r.now = func() time.Time { return now }
	down := &net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}
	attempt := func(err error) {
		release, e := r.GetAttemptToken(t.Context())
		check(t, e)
		_ = release(err) // says only whether the token was given back
	}
	attempt(down)
	now = now.Add(59 * time.Second)
	attempt(down)
	if !r.IsErrorRetryable(down) {
		t.Error("given up too early")
	}
	now = now.Add(time.Second)
	if r.IsErrorRetryable(down) {
		t.Error("not given up")
	}
	attempt(nil)
	attempt(down)
	if !r.IsErrorRetryable(down) {
		t.Error("given up although it had been there again")
	}
}

// A connection on which nothing moves ends; one that is slow doesn't.
func TestSilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c := &quiet{here}
		go func() {
			one := make([]byte, 1)
			for range 3 {
				time.Sleep(silence - time.Second)
				_, _ = there.Read(one) // its loss shows on the other side
			}
			time.Sleep(silence - time.Second)
			_, _ = there.Write(one) // as above
		}()
		begin := time.Now()
		read := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 1))
			read <- err
		}()
		for range 3 {
			if _, err := c.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-read; err != nil || time.Since(begin) < 3*silence {
			t.Errorf("the answer to a slow upload: %v after %v", err, time.Since(begin))
		}
		begin = time.Now()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != silence {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}
