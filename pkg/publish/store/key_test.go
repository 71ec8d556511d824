package store

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKeyAsPath(t *testing.T) {
	at := time.Date(2026, 11, 30, 7, 3, 9, 5e8, time.FixedZone("", 3600))
	for want, k := range map[string]Key{
		"v1/octo/engine/h200/main/20261130T060309Z-0123456789ab-77-1":               {Series{"octo", "engine", "h200", "main"}, at, "0123456789abcdef", "77", 0},
		"v1/o/r/c/release=2F1.x/20261130T060309Z-000000000000-a-b-c-12":             {Series{"o", "r", "c", "release/1.x"}, at, "", "a-b-c", 12},
		"v1/o/=2Egithub/=2E./=2E.=2F=2E./20261130T060309Z-0123456789ab-=C3=A9=00-2": {},
	} {
		if k.Run == "" { // every dot after the first stays, so one with a slash before is one too
			want = "v1/o/=2Egithub/=2E./=2E.=2F../20261130T060309Z-0123456789ab-=C3=A9=00-2"
			k = Key{Series{"o", ".github", "..", "../.."}, at, "0123456789ab", "é\x00", 2}
		}
		if got := k.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		back, err := Parse(want)
		check(t, err)
		k.Time, k.SHA, k.Attempt = k.Time.UTC().Truncate(time.Second), short(k.SHA), max(1, k.Attempt)
		if diff := cmp.Diff(k, back); diff != "" {
			t.Error(diff)
		}
	}
}

// Long names stay within what a file name may have, and apart.
func TestKeyOfLongNames(t *testing.T) {
	long := strings.Repeat("é/", 300)
	seen := map[string]bool{}
	for _, ref := range []string{long, long + "a", long + "b", strings.Repeat("x", 151), strings.Repeat("x", 152), strings.Repeat("x", 150)} {
		k := Key{Series{"o", "r", "c", ref}, noon, "", "1", 1}
		for part := range strings.SplitSeq(k.String(), "/") {
			if len(part) > 255 {
				t.Errorf("a part of %d bytes", len(part))
			}
		}
		back, err := Parse(k.String())
		check(t, err)
		if back.String() != k.String() {
			t.Errorf("%s became %s", k, back)
		}
		if seen[k.String()] {
			t.Errorf("%s twice", k)
		}
		seen[k.String()] = true
	}
}

func TestParseRefuses(t *testing.T) {
	for _, path := range []string{
		"", "v1", "v1/o/r/c/main", "v2/o/r/c/main/20261130T060309Z-0123456789ab-7-1", "v1/o/r/c/20261130T060309Z-0123456789ab-7-1",
		"v1//r/c/main/20261130T060309Z-0123456789ab-7-1",
		"v1/o/r/c/../20261130T060309Z-0123456789ab-7-1",           // leads out
		"v1/o/r/c/ma in/20261130T060309Z-0123456789ab-7-1",        // would be escaped
		"v1/o/r/c/m=61in/20261130T060309Z-0123456789ab-7-1",       // need not be
		"v1/o/r/c/rel=2f1/20261130T060309Z-0123456789ab-7-1",      // in another case
		"v1/o/r/c/main=/20261130T060309Z-0123456789ab-7-1",        // half an escape
		"v1/o/r/c/main/20261130T060309Z-0123456789ab--1",          // no run
		"v1/o/r/c/main/20261130T060309Z-0123456789ab-7-0",         // no attempt
		"v1/o/r/c/main/20261130T060309Z-0123456789ab-7-01",        // two spellings
		"v1/o/r/c/main/20261130T060309Z-0123456789AB-7-1",         // upper case
		"v1/o/r/c/main/20261330T060309Z-0123456789ab-7-1",         // no month
		"v1/o/r/c/main/20261130T060309Z-0123456789ab-7-1/x",       // below a run
		"v1/o/r/c/main/20261130T060309Z-0123456789ab-7-1\n::set-", // a workflow command
	} {
		if k, err := Parse(path); err == nil {
			t.Errorf("%q is %#v", path, k)
		} else if strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%q", err)
		}
	}
}

func TestKeyValidates(t *testing.T) {
	good := keyAt(noon, "1")
	check(t, good.Validate())
	for name, change := range map[string]func(*Key){
		"owner": func(k *Key) { k.Owner = "" }, "ref": func(k *Key) { k.Ref = "" }, "id": func(k *Key) { k.Run = "" },
		"time": func(k *Key) { k.Time = time.Time{} }, "commit": func(k *Key) { k.SHA = "main" },
	} {
		k := good
		change(&k)
		if err := k.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add("o", "r", "c", "refs/heads/../x", "1", int64(0), 1)
	f.Add("é", ".", "..", strings.Repeat("=", 200), "-", int64(1<<33), -5)
	f.Fuzz(func(t *testing.T, owner, repo, cell, ref, run string, unix int64, attempt int) {
		k := Key{Series{owner, repo, cell, ref}, time.Unix(unix%(1<<33), 0).UTC(), "0123456789ab", run, attempt}
		if k.Validate() != nil {
			return
		}
		path := k.String()
		if !fs.ValidPath(path) || len(path) > 1000 {
			t.Fatalf("%q is no path", path)
		}
		back, err := Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		if back.String() != path {
			t.Fatalf("%q became %q", path, back)
		}
		if long := max(len(owner), len(repo), len(cell), len(ref), len(run))*3 > maxPart; !long {
			k.Attempt = max(1, k.Attempt)
			if diff := cmp.Diff(k, back); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("v1/o/r/c/release=2F1/20261130T060309Z-0123456789ab-7-1")
	f.Fuzz(func(t *testing.T, path string) {
		if k, err := Parse(path); err == nil && k.String() != path {
			t.Fatalf("%q became %q", path, k)
		}
	})
}

func TestReferences(t *testing.T) {
	series := Series{"o", "r", "c", "release/1"}
	for ref, want := range map[string]Reference{
		"s3://b/p/q/v1/o/r/c/release=2F1":  {"s3://b/p/q", series, nil},
		"s3://b/v1/o/r/c/release=2F1/":     {"s3://b", series, nil},
		"s3://b/v1/v1/o/r/c/release=2F1":   {"s3://b/v1", series, nil},
		"/data/runs/v1/o/r/c/release=2F1/": {"/data/runs", series, nil},
	} {
		got, err := ParseReference(ref)
		check(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
	}
	run := "s3://b/v1/o/r/c/main/20261130T060309Z-0123456789ab-7-1"
	got, err := ParseReference(run)
	check(t, err)
	if got.Key == nil || got.Key.Run != "7" || got.Store != "s3://b" || got.String() != run {
		t.Errorf("%+v", got)
	}
	for _, ref := range []string{"s3://b", "s3://b/p", "s3://b/v1/o/r/c", "s3://b/v1/o/r/c/release/1/x/y", "s3://b/v1/o/r/c/ma in"} {
		if got, err := ParseReference(ref); err == nil {
			t.Errorf("%s is %+v", ref, got)
		}
	}
}
