package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// request is a hand-made request; its ids count up from first.
type request struct {
	t       float64
	in, out int
	api     float64
	first   int
}

// traceJSON is a trace of block size 64 on one line.
func traceJSON(id string, requests ...request) string {
	var entries []string
	for _, r := range requests {
		var ids []string
		for i := range r.in / 64 {
			ids = append(ids, fmt.Sprint(r.first+i))
		}
		entries = append(entries, fmt.Sprintf(`{"t":%g,"type":"n","model":"m","in":%d,"out":%d,"hash_ids":[%s],"api_time":%g}`,
			r.t, r.in, max(r.out, 1), strings.Join(ids, ","), r.api))
	}
	return fmt.Sprintf(`{"id":%q,"models":["m"],"block_size":64,"hash_id_scope":"local","requests":[%s]}`, id, strings.Join(entries, ","))
}

// write puts files into a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func mustOpen(t *testing.T, o Options, traces ...string) *Corpus {
	t.Helper()
	folder := write(t, map[string]string{"traces.jsonl": strings.Join(traces, "\n")})
	c, err := Open([]string{folder}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
