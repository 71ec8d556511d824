package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// finishedRuns counts what a reader sees.
func finishedRuns(tb testing.TB, s Store, of Series) (n int) {
	tb.Helper()
	for run, err := range Runs(tb.Context(), s, of) {
		check(tb, err)
		if run.Why != "" {
			tb.Errorf("%s: %s", run.Key, run.Why)
		}
		n++
	}
	return n
}

// manifestSizes are the sizes that a run has in a store.
func manifestSizes(tb testing.TB, dir string) map[string]int64 {
	tb.Helper()
	m, text, err := result.ReadManifest(dir)
	check(tb, err)
	out := map[string]int64{result.FileManifest: int64(len(text))}
	for _, f := range m.Files {
		out[f.Path] = f.Size
	}
	return out
}

// A run goes there and comes back; what is done twice changes nothing.
func TestUploadAndFetch(t *testing.T) {
	stores(t, func(t *testing.T, s Store) {
		dir := measured{id: "run-a", files: map[string]int64{"charts/a.svg": 5000, "charts/deep/large.bin": testParts + 7, "charts/empty": 0}}.folder(t)
		check(t, os.WriteFile(filepath.Join(dir, "not-ours.txt"), []byte("x"), 0o600))
		key := keyAt(noon, "7")
		var said bytes.Buffer
		u, err := Upload(t.Context(), s, dir, key, UploadOptions{Progress: &said, Every: time.Millisecond})
		check(t, err)
		want := manifestSizes(t, dir)
		if diff := cmp.Diff(want, sizes(t, s, key)); diff != "" {
			t.Error(diff)
		}
		var total int64
		for _, n := range want {
			total += n
		}
		if u.Files != len(want) || u.Sent != len(want) || u.Bytes != total || u.SentBytes != total || u.Already || u.Where != s.String()+"/"+key.String() || len(u.Notes) > 0 {
			t.Errorf("%+v", u)
		}
		if !strings.Contains(said.String(), fmt.Sprintf("of %s, ", size(total))) {
			t.Errorf("%q", said.String())
		}
		u, err = Upload(t.Context(), s, dir, key, UploadOptions{})
		check(t, err)
		if !u.Already || u.Sent != 0 || u.SentBytes != 0 {
			t.Errorf("%+v", u)
		}

		back := filepath.Join(t.TempDir(), "deep", "back")
		for range 2 { // the second time it is there
			check(t, Fetch(t.Context(), s, key, back, FetchOptions{}))
		}
		if _, err := compare.Check(back); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, manifestSizes(t, back)); diff != "" {
			t.Error(diff)
		}
		if left, err := os.ReadDir(filepath.Dir(back)); err != nil || len(left) != 1 {
			t.Errorf("%v %v", left, err)
		}

		// Another run under the same key is refused, finished or not.
		other := measured{id: "run-b"}.folder(t)
		var conflict *ConflictError
		if _, err = Upload(t.Context(), s, other, key, UploadOptions{}); !errors.As(err, &conflict) || conflict.Name != result.FileManifest {
			t.Errorf("%v", err)
		}
		half := keyAt(noon, "8")
		check(t, s.Put(t.Context(), half.String()+"/"+result.FileFacts, sourceOf([]byte("of another"))))
		if _, err = Upload(t.Context(), s, other, half, UploadOptions{}); !errors.As(err, &conflict) || conflict.Name != result.FileFacts || !errors.Is(err, ErrExists) {
			t.Errorf("%v", err)
		}
		if n := finishedRuns(t, s, key.Series); n != 1 {
			t.Errorf("%d runs", n)
		}
		if err := Fetch(t.Context(), s, half, filepath.Join(t.TempDir(), "x"), FetchOptions{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("an unfinished run was fetched: %v", err)
		}
	})
}

func TestUploadRefusesWhatIsNotWhole(t *testing.T) {
	s := openFolder(t.TempDir())
	dir := measured{id: "a"}.folder(t)
	refuses := func(why string, key Key) {
		t.Helper()
		if _, err := Upload(t.Context(), s, dir, key, UploadOptions{}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %q", err, why)
		}
	}
	refuses("owner", Key{})
	check(t, os.WriteFile(filepath.Join(dir, result.FileAIPerfCSV), []byte("x"), 0o600))
	refuses("not as its run left it", keyAt(noon, "1"))
	check(t, os.Remove(filepath.Join(dir, result.FileManifest)))
	refuses("did not finish", keyAt(noon, "1"))
	if got := sizes(t, s, keyAt(noon, "1")); len(got) > 0 {
		t.Errorf("%v was written", got)
	}
}

// Several uploaders of one run end well, all of them; of two runs, one does or none,
// and what lies there is whole.
func TestUploadersOfOneKey(t *testing.T) {
	stores(t, func(t *testing.T, s Store) {
		dir := measured{id: "a", files: map[string]int64{"charts/large": testParts + 1}}.folder(t)
		other := measured{id: "b", files: map[string]int64{"charts/large": testParts + 1}}.folder(t)
		both := func(key Key, dirs ...string) (errs []error) {
			errs = make([]error, len(dirs))
			var group sync.WaitGroup
			for i, dir := range dirs {
				group.Go(func() { _, errs[i] = Upload(t.Context(), s, dir, key, UploadOptions{}) })
			}
			group.Wait()
			return errs
		}
		key := keyAt(noon, "same")
		if errs := both(key, dir, dir, dir); errors.Join(errs...) != nil {
			t.Errorf("%v", errs)
		}
		check(t, Fetch(t.Context(), s, key, filepath.Join(t.TempDir(), "x"), FetchOptions{}))
		key = keyAt(noon, "different")
		errs := both(key, dir, other)
		won := 0
		for _, err := range errs {
			var conflict *ConflictError
			switch {
			case err == nil:
				won++
			case !errors.As(err, &conflict):
				t.Errorf("%v", err)
			}
		}
		if won > 1 {
			t.Error("both were told that theirs is there")
		}
		if won == 1 {
			check(t, Fetch(t.Context(), s, key, filepath.Join(t.TempDir(), "x"), FetchOptions{}))
		}
	})
}

// artifacts is a set of 300 MB of which the largest file goes in parts.
func artifacts(tb testing.TB) string {
	return filesOf(tb, 140e6, 60e6, 40e6, 20e6, 15e6, 15e6, 10e6, 1e6)
}

func filesOf(tb testing.TB, sizes ...int64) string {
	m := measured{id: "big", files: map[string]int64{}}
	for i, n := range sizes {
		m.files[fmt.Sprint("charts/", i)] = n
	}
	return m.folder(tb)
}

// traffic counts what goes to a server, and can end a context after so many bytes.
type traffic struct {
	bytes atomic.Int64
	after int64
	end   func()
	past  atomic.Bool // nothing is ended any more; the server may still be at it
}

func (c *traffic) look(_ http.ResponseWriter, r *http.Request) bool {
	if r.Body != nil {
		r.Body = &counted{r.Body, c}
	}
	return false
}

type counted struct {
	io.ReadCloser
	c *traffic
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.c.bytes.Add(int64(n)) > c.c.after && !c.c.past.Load() {
		c.c.end()
	}
	return n, err
}

// resumes uploads a run of which a part is there, and checks that only the rest is sent.
func resumes(t *testing.T, dir string, key Key, s Store, sent *traffic) {
	t.Helper()
	there, want := settled(t, s, key), manifestSizes(t, dir)
	if n := finishedRuns(t, s, key.Series); n != 0 {
		t.Fatal("a run without a manifest is seen")
	}
	var had int64
	for name, n := range there {
		if want[name] != n {
			t.Errorf("%s has %d bytes, want %d", name, n, want[name])
		}
		had += n
	}
	if len(there) == 0 || len(there) >= len(want)-1 {
		t.Fatalf("%d of %d files are there: the test did not cut the upload off in its middle", len(there), len(want))
	}
	sent.bytes.Store(0)
	u, err := Upload(t.Context(), s, dir, key, UploadOptions{})
	check(t, err)
	if u.Sent != len(want)-len(there) || u.SentBytes != u.Bytes-had {
		t.Errorf("sent %d files, %d bytes; %d files, %d bytes of %d were there", u.Sent, u.SentBytes, len(there), had, u.Bytes)
	}
	if over := sent.bytes.Load() - u.SentBytes; over < 0 || over > 64<<10 {
		t.Errorf("%d bytes on the wire for %d that were missing", sent.bytes.Load(), u.SentBytes)
	}
	if diff := cmp.Diff(want, sizes(t, s, key)); diff != "" {
		t.Error(diff)
	}
	if n := unfinishedParts(t, s); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
	back := filepath.Join(t.TempDir(), "back")
	check(t, Fetch(t.Context(), s, key, back, FetchOptions{}))
	check(t, result.Verify(back))
	if n := finishedRuns(t, s, key.Series); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// settled is what is there when the server is done with what a killed client had asked.
func settled(t *testing.T, s Store, key Key) map[string]int64 {
	t.Helper()
	there, same := sizes(t, s, key), time.Now()
	for end := time.Now().Add(30 * time.Second); time.Since(same) < time.Second && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if now := sizes(t, s, key); !maps.Equal(now, there) {
			there, same = now, time.Now()
		}
	}
	return there
}

func unfinishedParts(tb testing.TB, s Store) int {
	tb.Helper()
	b := s.(*bucket)
	out, err := b.client.ListMultipartUploads(tb.Context(), &s3.ListMultipartUploadsInput{Bucket: aws.String(b.name)})
	check(tb, err)
	return len(out.Uploads)
}

func TestUploadCancelledAndResumed(t *testing.T) {
	for name, from := range map[string]int64{"nearly all in parts": testParts, "as always": partsFromNear} {
		t.Run(name, func(t *testing.T) {
			g := startGateway(t)
			dir, key := artifacts(t), keyAt(noon, "1")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			sent := &traffic{after: 200e6, end: cancel}
			s := openAt(t, through(t, g.url, sent.look), Options{})
			s.(*bucket).partsFrom.Store(from)
			if _, err := Upload(ctx, s, dir, key, UploadOptions{}); !errors.Is(err, context.Canceled) {
				t.Fatalf("%v", err)
			}
			if n := unfinishedParts(t, s); n != 0 {
				t.Errorf("%d unfinished uploads are left by an orderly end", n)
			}
			sent.past.Store(true)
			resumes(t, dir, key, s, sent)
		})
	}
}

// Variables of the child that TestUploadKilledAndResumed kills.
const (
	childDir = "AGENTX_TEST_UPLOAD_DIR"
	childURL = "AGENTX_TEST_UPLOAD_URL"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		s, err := Open(context.Background(), "s3://"+testBucket+"/a/prefix", Options{Endpoint: os.Getenv(childURL)})
		if err == nil {
			_, err = Upload(context.Background(), s, dir, keyAt(noon, "1"), UploadOptions{})
		}
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestUploadKilledAndResumed(t *testing.T) {
	g := startGateway(t)
	dir, key := artifacts(t), keyAt(noon, "1")
	enough := make(chan struct{})
	sent := &traffic{after: 200e6, end: sync.OnceFunc(func() { close(enough) })}
	at := through(t, g.url, sent.look)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir, childURL+"="+at)
	var said bytes.Buffer
	child.Stdout, child.Stderr = &said, &said
	check(t, child.Start())
	select {
	case <-enough:
	case <-time.After(time.Minute):
		t.Error("the child sends nothing")
	}
	check(t, child.Process.Kill())
	_ = child.Wait() // it says that it was killed
	s := openAt(t, at, Options{})
	if unfinishedParts(t, s) == 0 {
		t.Errorf("the child left no unfinished parts; it said %q", said.String())
	}
	sent.past.Store(true)
	resumes(t, dir, key, s, sent)
}

// A reader never sees a run before its manifest, which is sent after all else.
func TestManifestIsLast(t *testing.T) {
	g := startGateway(t)
	key := keyAt(noon, "1")
	reader := openAt(t, g.url, Options{})
	var order []string
	var mu sync.Mutex
	s := openAt(t, through(t, g.url, func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPut {
			if finishedRuns(t, reader, key.Series) != 0 && !strings.HasSuffix(r.URL.Path, result.FileManifest) {
				t.Errorf("seen before %s was there", r.URL.Path)
			}
			order = append(order, r.URL.Path)
		}
		return false
	}), Options{})
	dir := measured{id: "a", files: map[string]int64{"charts/large": testParts + 1, "charts/b": 1e6}}.folder(t)
	_, err := Upload(t.Context(), s, dir, key, UploadOptions{})
	check(t, err)
	if i := slices.IndexFunc(order, func(p string) bool { return strings.HasSuffix(p, "/"+result.FileManifest) }); i != len(order)-1 {
		t.Errorf("the manifest is number %d of %d", i+1, len(order))
	}
	if finishedRuns(t, reader, key.Series) != 1 {
		t.Error("not seen at all")
	}
}

// BenchmarkUpload sends 300 MB to a server on the same disk, in turn with cp, both
// until they are on the disk. %cp is the share of cp's speed: the bar is 60. A run's
// largest file is about a third of it; one of 300 MB goes in parts, which the server
// joins by writing them a second time. With MD5 the server hashes each byte once more.
func BenchmarkUpload(b *testing.B) {
	for _, c := range []struct {
		name  string
		sizes []int64
		flags []string
	}{
		{"largest=100MB/etag=crc32c", sizesOfRun, []string{"--data-integrity-etag"}},
		{"largest=100MB/etag=md5", sizesOfRun, nil},
		{"largest=300MB/etag=crc32c", []int64{300e6}, []string{"--data-integrity-etag"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := startGateway(b, c.flags...)
			dir := filesOf(b, c.sizes...)
			s, err := Open(b.Context(), "s3://"+testBucket+"/a/prefix", Options{Endpoint: g.url})
			check(b, err)
			againstCopy(b, dir, filepath.Join(g.dir, testBucket), func(n int) {
				_, err := Upload(b.Context(), s, dir, keyAt(noon, fmt.Sprint(n)), UploadOptions{})
				check(b, err)
			})
		})
	}
}

var sizesOfRun = []int64{100e6, 60e6, 60e6, 40e6, 15e6, 15e6, 10e6, 1e6}

// BenchmarkUploadToFolder is the same into a folder.
func BenchmarkUploadToFolder(b *testing.B) {
	dir, to := filesOf(b, sizesOfRun...), b.TempDir()
	s := openFolder(to)
	againstCopy(b, dir, to, func(n int) {
		_, err := Upload(b.Context(), s, dir, keyAt(noon, fmt.Sprint(n)), UploadOptions{})
		check(b, err)
	})
}

func againstCopy(b *testing.B, dir, to string, upload func(n int)) {
	var ours, cps []float64
	synced := func(do func()) float64 {
		begin := time.Now()
		do()
		check(b, exec.Command("sync", "-f", to).Run())
		return time.Since(begin).Seconds()
	}
	b.SetBytes(301e6)
	n := 0
	for b.Loop() {
		n++
		ours = append(ours, synced(func() { upload(n) }))
		b.StopTimer()
		clear := func() {
			left, err := filepath.Glob(filepath.Join(to, "*"))
			check(b, err)
			for _, name := range left {
				check(b, os.RemoveAll(name))
			}
		}
		clear()
		cps = append(cps, synced(func() { check(b, exec.Command("cp", "-r", dir, filepath.Join(to, "cp")).Run()) }))
		clear()
		b.StartTimer()
	}
	slices.Sort(ours)
	slices.Sort(cps)
	b.ReportMetric(100*cps[len(cps)/2]/ours[len(ours)/2], "%cp")
	b.ReportMetric(301/cps[len(cps)/2], "cp-MB/s")
}
