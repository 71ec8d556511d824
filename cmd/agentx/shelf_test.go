package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/org/agentx-action/pkg/publish/store"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// shelfServer is a bucket with runs of the branch release/1 in it, and the reference
// of that branch.
func shelfServer(t *testing.T, runs ...string) (server *httptest.Server, ref string) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIDCANARY", "AWS_SECRET_ACCESS_KEY": "canary-secret", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_EC2_METADATA_DISABLED": "true", "AGENTX_CACHE": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	backend := s3mem.New()
	if err := backend.CreateBucket("results"); err != nil {
		t.Fatal(err)
	}
	server = httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	t.Cleanup(server.Close)
	to, err := store.Open(t.Context(), "s3://results/p", store.Options{Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	series := store.Series{Owner: "o", Repo: "r", Cell: "c", Ref: "release/1"}
	for i, dir := range runs {
		key := store.Key{Series: series, Time: time.Date(2026, 1, 2, 3, i, 0, 0, time.UTC), Run: dir}
		if _, err := store.Upload(t.Context(), to, dir, key, store.UploadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return server, "s3://results/p/" + series.String()
}

// A branch in a store is a base as a folder of runs is; so is one run in it.
func TestCompareWithAStore(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, dir := range []string{"a", "b", "c"} {
		finished(t, dir, uint64(i), 1, 42, false)
	}
	finished(t, "seed", 7, 1, 43, false)
	finished(t, "slow", 8, 1.5, 42, false)
	server, ref := shelfServer(t, "a", "b", "c", "seed")
	agentx := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := Main(append(args, "--s3-endpoint", server.URL), nil, &out, &errs); code != want {
			t.Errorf("%v: exit code %d, want %d: %s", args, code, want, errs.String())
		}
		if text := out.String() + errs.String(); strings.Contains(strings.ToLower(text), "canary") {
			t.Errorf("a key stands in %s", text)
		}
		return out.String() + errs.String()
	}
	says := func(text string, want ...string) {
		t.Helper()
		text = strings.Join(strings.Fields(text), " ") // as it was before it was wrapped
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%q is not in %s", w, text)
			}
		}
	}
	newest := ref + "/20260102T030200Z-000000000000-c-1"
	says(agentx(exitDone, "compare", "slow", ref), "20260102T030200Z-000000000000-c-1, 20260102T030100Z-000000000000-b-1, 20260102T030000Z-000000000000-a-1",
		"1 run turned down: differs from the head in seed")
	agentx(exitDone, "compare", newest, ref)
	says(agentx(exitDone, "validate", newest), newest+": the result fits its schema")
	says(agentx(exitUsage, "validate", ref), "name one of them")
	says(agentx(exitUsage, "compare", "slow", "s3://results/p"), "want <store>/v1/<owner>")
	says(agentx(exitUsage, "compare", "slow", ref+"x"), "no finished run")
	says(agentx(exitUsage, "compare", "slow", ref+"/20260102T030200Z-000000000000-none-1"), "no finished run")
	says(agentx(exitFailed, "compare", "slow", strings.Replace(ref, "results", "another", 1)), "there is no bucket another")
}

// hanging is a store that never answers.
type hanging struct{ store.Store }

func (hanging) String() string { return "s3://b" }

func (hanging) List(ctx context.Context, _ string, _ bool) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		<-ctx.Done()
		yield(store.Object{}, ctx.Err())
	}
}

// A base that nobody named is waited for a minute; one that was, as long as it takes.
func TestStoreHangs(t *testing.T) {
	for name, c := range map[string]struct {
		unasked bool
		want    time.Duration
		says    string
	}{"nobody named it": {true, unaskedWithin, "took longer than 1m0s"}, "it was named": {false, time.Hour, "deadline exceeded"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				r := new(runCmd)
				r.unasked = c.unasked
				s := r.baseShelf(&console{ctx: ctx})
				s.local = map[string]*store.Local{"s3://b": {Store: hanging{}, Dir: t.TempDir()}}
				from := time.Now()
				_, _, err := s.window("s3://b/v1/o/r/c/main", new(compare.Wanted), nil, nil)
				if took := time.Since(from); took != c.want || err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("after %v, want %v: %v", took, c.want, err)
				}
			})
		})
	}
}

// A store that is gone after the run does not cost the comparison.
func TestStoreIsGoneAfterTheRun(t *testing.T) {
	t.Chdir(t.TempDir())
	finished(t, "a", 1, 1, 42, false)
	finished(t, "head", 2, 1, 42, false)
	server, ref := shelfServer(t, "a")
	c := &console{ctx: t.Context()}
	b, err := newBase([]string{ref}, "", "out", c.shelf(&s3Flags{S3Endpoint: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := result.Read("head")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.fits(&doc.Identity); err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = nil // answers 404 to all
	server.Close()
	var out bytes.Buffer
	comparison, _, err := b.compare(&out, "head")
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(comparison.Notes); !strings.Contains(text, "could not be read after the run") || !strings.Contains(text, "20260102T030000Z-000000000000-a-1") {
		t.Errorf("%s", text)
	}
}

// A run is validated as it lies in its store, not as it was fetched once.
func TestValidateAsksTheStore(t *testing.T) {
	t.Chdir(t.TempDir())
	finished(t, "a", 1, 1, 42, false)
	finished(t, "b", 2, 1, 42, false)
	server, ref := shelfServer(t, "a")
	agentx := func(want int, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := Main(append(args, "--s3-endpoint", server.URL), nil, &out, &errs); code != want {
			t.Errorf("%v: exit code %d, want %d: %s", args, code, want, errs.String())
		}
	}
	one := ref + "/20260102T030000Z-000000000000-a-1"
	agentx(exitDone, "compare", "b", one) // which fetches it
	spoilt := 0
	err := filepath.WalkDir(os.Getenv("AGENTX_CACHE"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == result.FileRecords {
			spoilt++
			return os.WriteFile(name, []byte("{}\n"), 0o600)
		}
		return err
	})
	if err != nil || spoilt != 1 {
		t.Fatalf("%d fetched, %v", spoilt, err)
	}
	agentx(exitDone, "validate", one)
}
