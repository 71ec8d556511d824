package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// counted counts what is asked of a store.
type countedStore struct {
	Store
	mu   sync.Mutex
	gets []string
}

func (c *countedStore) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	c.mu.Lock()
	c.gets = append(c.gets, name)
	c.mu.Unlock()
	return c.Store.Get(ctx, name)
}

// The newest accepted runs of a branch are the baseline; others are turned down by
// name, and nothing is read that need not be.
func TestWindowOfAStore(t *testing.T) {
	s := &countedStore{Store: openFolder(t.TempDir())}
	put := func(n int, m measured) Key {
		t.Helper()
		m.at = noon.Add(time.Duration(n) * time.Hour)
		key := keyAt(m.at, fmt.Sprint(n))
		_, err := Upload(t.Context(), s, m.folder(t), key, UploadOptions{})
		check(t, err)
		return key
	}
	for n := range 4 {
		put(n, measured{id: fmt.Sprint("run-", n), seed: 42})
	}
	put(4, measured{id: "dead", seed: 42, fails: true})
	put(5, measured{id: "seed", seed: 43})
	damaged := put(6, measured{id: "damaged", seed: 42})
	forged := put(7, measured{id: "forged", seed: 42})
	unfinished := put(8, measured{id: "unfinished", seed: 42})
	head := put(9, measured{id: "head", seed: 42})
	elsewhere := keyAt(noon.Add(99*time.Hour), "pr")
	elsewhere.Ref = "pr-7"
	_, err := Upload(t.Context(), s, measured{id: "pr", seed: 42}.folder(t), elsewhere, UploadOptions{})
	check(t, err)
	at := func(k Key, name string) string { return filepath.Join(s.String(), k.String(), name) }
	check(t, os.WriteFile(at(damaged, result.FileRecords), []byte("x"), 0o600))
	check(t, os.WriteFile(at(forged, result.FileResult), []byte("{}"), 0o600))
	check(t, os.Remove(at(unfinished, result.FileManifest)))
	check(t, os.WriteFile(filepath.Join(s.String(), head.Series.String(), "notes.txt"), []byte("x"), 0o600))

	d, err := result.Read(at(head, ""))
	check(t, err)
	w := &compare.Wanted{RunIDs: []string{d.RunID}, Identity: d.Identity, MayDiffer: compare.DefaultAxis}
	local := &Local{Store: s, Dir: t.TempDir()}
	var opened []string
	open := func(dir string) error {
		opened = append(opened, filepath.Base(dir))
		_, err := compare.Check(dir)
		return err
	}
	s.gets = nil
	b, err := local.Window(t.Context(), head.Series, w, nil, 2, open)
	check(t, err)
	var took []string
	for i, r := range b.Runs {
		took = append(took, r.RunID)
		if _, err := compare.Check(r.Where); err != nil || !strings.HasSuffix(filepath.ToSlash(r.Where), b.Keys[i].String()) {
			t.Errorf("%s: %v", r.Where, err)
		}
	}
	if diff := cmp.Diff([]string{"run-3", "run-2"}, took); diff != "" {
		t.Error(diff)
	}
	if slices.ContainsFunc(s.gets, func(name string) bool { return strings.Contains(name, keyAt(noon, "0").name()) }) {
		t.Error("an older run than needed was read")
	}
	of := s.String() + "/" + head.Series.String()
	want := []string{
		"Base from " + of + ", the newest accepted first: 20260504T150000Z-0123456789ab-3-1, 20260504T140000Z-0123456789ab-2-1.",
		"Below " + of + ", 2 runs turned down: not as the run left it (20260504T190000Z-0123456789ab-7-1, 20260504T180000Z-0123456789ab-6-1).",
		"Below " + of + ", 1 run turned down: the head itself (20260504T210000Z-0123456789ab-9-1).",
		"Below " + of + ", 1 run turned down: differs from the head in seed (20260504T170000Z-0123456789ab-5-1).",
		"Below " + of + ", 1 run turned down: no request succeeded (20260504T160000Z-0123456789ab-4-1).",
	}
	if diff := cmp.Diff(want, b.Notes(of)); diff != "" {
		t.Error(diff)
	}

	// What is here is not fetched again, unless it was changed here.
	s.gets = nil
	dir, err := local.Folder(t.Context(), b.Keys[0])
	if check(t, err); len(s.gets) > 0 || dir != b.Runs[0].Where {
		t.Errorf("%v", s.gets)
	}
	check(t, os.WriteFile(filepath.Join(dir, result.FileRecords), []byte("x"), 0o600))
	_, err = local.Folder(t.Context(), b.Keys[0])
	check(t, err)
	_, err = compare.Check(dir)
	check(t, err)
	// What nobody asked for in a long time goes, when a run is fetched.
	old := time.Now().Add(-keepFor - time.Hour)
	check(t, os.Chtimes(dir, old, old))
	_, err = local.Folder(t.Context(), keyAt(noon, "0"))
	check(t, err)
	if _, err := os.Lstat(dir); err == nil {
		t.Error("an old run stays for ever")
	}
	// A series that is not there has no runs.
	b, err = local.Window(t.Context(), Series{"octo", "engine", "none", "main"}, w, nil, 2, open)
	if check(t, err); len(b.Runs)+len(b.Down) > 0 {
		t.Errorf("%+v", b)
	}
}

// A store is not believed.
func TestFetchFromAHostileStore(t *testing.T) {
	key := keyAt(noon, "1")
	manifest := func(files ...result.File) string {
		text := `{"kind":"agentx.manifest","schema_version":"1.0","run_id":"a","files":[`
		for i, f := range files {
			if i > 0 {
				text += ","
			}
			text += fmt.Sprintf(`{"path":%q,"size":%d,"sha256":%q}`, f.Path, f.Size, f.SHA256)
		}
		return text + "]}"
	}
	sum := sourceOf([]byte("text")).SHA256
	zero := hex.EncodeToString(make([]byte, 32))
	for name, c := range map[string]struct{ manifest, want string }{
		"out of the folder": {manifest(result.File{Path: "../../evil", Size: 4, SHA256: sum}), "no path inside the folder"},
		"absolute":          {manifest(result.File{Path: "/tmp/evil", Size: 4, SHA256: sum}), "no path inside the folder"},
		"the manifest":      {manifest(result.File{Path: "manifest.json", Size: 4, SHA256: sum}), "no path inside the folder"},
		"a file as folder":  {manifest(result.File{Path: "records.jsonl", Size: 4, SHA256: sum}, result.File{Path: "records.jsonl/x", Size: 4, SHA256: sum}), ""},
		"another hash":      {manifest(result.File{Path: "records.jsonl", Size: 4, SHA256: zero}), "not the file of the manifest"},
		"longer":            {manifest(result.File{Path: "records.jsonl", Size: 3, SHA256: sum}), "not the file of the manifest"},
		"shorter":           {manifest(result.File{Path: "records.jsonl", Size: 5, SHA256: sum}), "not the file of the manifest"},
		"missing":           {manifest(result.File{Path: "trees.jsonl", Size: 5, SHA256: sum}), "is not there"},
		"a petabyte":        {manifest(result.File{Path: "records.jsonl", Size: 1e15, SHA256: sum}), "larger than"},
		"overflowing":       {manifest(result.File{Path: "a", Size: math.MaxInt64, SHA256: sum}, result.File{Path: "b", Size: math.MaxInt64, SHA256: sum}), "larger than"},
		"a contradiction": {`{"kind":"agentx.manifest","schema_version":"1.1","run_id":"a","files":[{"path":"records.jsonl","size":4,"sha256":"` + sum + `","crc32c":"00000000"}]}`,
			"contradicts itself"},
		"no manifest": {"{}", "not as the run left it"},
		"huge":        {strings.Repeat(" ", maxManifest) + "{}", "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openFolder(t.TempDir())
			for _, f := range []string{"records.jsonl", "records.jsonl.x"} {
				check(t, s.Put(t.Context(), key.String()+"/"+f, sourceOf([]byte("text"))))
			}
			check(t, s.Put(t.Context(), key.String()+"/manifest.json", sourceOf([]byte(c.manifest))))
			parent := t.TempDir()
			err := Fetch(t.Context(), s, key, filepath.Join(parent, "run"), FetchOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
				t.Errorf("%v is left; %v", left, err)
			}
			for run, err := range Runs(t.Context(), s, key.Series) {
				if check(t, err); run.Why != compare.NotWhole {
					t.Errorf("the run is %+v", run)
				}
			}
		})
	}
}

// A folder that holds something else is not touched.
func TestFetchIntoAForeignFolder(t *testing.T) {
	s, key := openFolder(t.TempDir()), keyAt(noon, "1")
	_, err := Upload(t.Context(), s, measured{id: "a"}.folder(t), key, UploadOptions{})
	check(t, err)
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "mine"), []byte("x"), 0o600))
	if err := Fetch(t.Context(), s, key, dir, FetchOptions{}); err == nil {
		t.Error("written into somebody's folder")
	}
	other := measured{id: "b"}.folder(t)
	if err := Fetch(t.Context(), s, key, other, FetchOptions{}); err == nil {
		t.Error("written over another run")
	}
	if _, err := compare.Check(other); err != nil {
		t.Error(err)
	}
	if err := Fetch(cancelled(t), s, key, filepath.Join(dir, "x"), FetchOptions{}); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}
