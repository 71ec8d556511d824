package result

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/org/agentx-action/pkg/result/record"
)

type line struct {
	N int `json:"n"`
}

// compressed is lines 0 to n-1, flushed after every tenth.
func compressed(t testing.TB, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewLineWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := fmt.Fprintf(w, "{\"n\":%d}\n", i); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// count reads a folder's series.
func count(t testing.TB, dir string) (n int, err error) {
	t.Helper()
	in, err := OpenSeries(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for v, err := range record.Read[line](in, FileSeries) {
		if err != nil {
			return n, err
		}
		if v.N != n {
			t.Fatalf("line %d says %d", n, v.N)
		}
		n++
	}
	return n, nil
}

func TestSeriesFiles(t *testing.T) {
	put := func(name string, text []byte) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	whole := compressed(t, 1005)
	if n, err := count(t, put(FileSeries, whole)); n != 1005 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
	if n, err := count(t, put(FileSeriesOld, []byte("{\"n\":0}\n{\"n\":1}\n"))); n != 2 || err != nil {
		t.Errorf("plain: %d lines, %v", n, err)
	}
	// Cut off in the middle, as by a SIGKILL: what was flushed is there.
	n, err := count(t, put(FileSeries, whole[:len(whole)/2]))
	if n < 300 || n > 700 || err != nil && !errors.Is(err, record.ErrCut) {
		t.Errorf("half a file: %d lines, %v", n, err)
	}
	if n, err := count(t, put(FileSeries, []byte("no zstd at all"))); n != 0 || err == nil {
		t.Errorf("garbage: %d lines, %v", n, err)
	}
	if _, err := OpenSeries(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
}

func TestLineWriterIsBounded(t *testing.T) {
	w, err := NewLineWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	w.written = maxLines - 3
	if _, err := w.Write([]byte("1234")); !errors.Is(err, ErrLinesFull) {
		t.Errorf("error %v, want that it is full", err)
	}
	if n, err := w.Write([]byte("12\n")); n != 3 || err != nil {
		t.Errorf("the last bytes: %d, %v", n, err)
	}
}

func FuzzOpenSeries(f *testing.F) {
	whole := compressed(f, 25)
	f.Add(whole)
	f.Add(whole[:40])
	f.Add([]byte("{\"n\":0}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, FileSeries), text, 0o644); err != nil {
			t.Fatal(err)
		}
		in, err := OpenSeries(dir)
		if err != nil {
			return
		}
		defer in.Close()
		for _, err := range record.Read[line](io.LimitReader(in, 1<<20), FileSeries) {
			if err != nil {
				return
			}
		}
	})
}
