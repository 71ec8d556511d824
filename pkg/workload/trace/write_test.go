package trace

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// readsBack writes a trace, reads it and fails unless nothing changed. Notes are
// about the file, and which run holds a block depends on the order of adding.
func readsBack(t *testing.T, want *Trace) {
	t.Helper()
	var written, again bytes.Buffer
	if err := Write(&written, want); err != nil {
		t.Fatal(err)
	}
	d := NewReader(bytes.NewReader(written.Bytes()), "")
	got, err := d.Next()
	if err != nil {
		t.Fatalf("%s: %v\n%.2000s", want.ID, err, written.Bytes())
	}
	if _, err := d.Next(); err != io.EOF {
		t.Fatalf("%s: more than one trace was written: %v", want.ID, err)
	}
	diff := cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(Trace{}, "Blocks", "File", "Notes"), cmpopts.IgnoreFields(Request{}, "Path"), cmpopts.IgnoreFields(Subagent{}, "Relative"))
	if diff != "" {
		t.Fatalf("%s: %s", want.ID, diff)
	}
	next := allOf(got)
	for i, r := range allOf(want) {
		if !slices.Equal(want.Blocks.IDs(nil, r.Path), got.Blocks.IDs(nil, next[i].Path)) {
			t.Fatalf("%s: the ids of request %d differ", want.ID, i)
		}
	}
	if err := Write(&again, got); err != nil || !bytes.Equal(written.Bytes(), again.Bytes()) {
		t.Fatalf("%s: written twice, two texts (%v)", want.ID, err)
	}
	if bytes.Count(written.Bytes(), []byte("\n")) != 1 {
		t.Fatalf("%s: not one line", want.ID)
	}
}

func allOf(t *Trace) []*Request {
	var list []*Request
	for r := range t.All {
		list = append(list, r)
	}
	return list
}

func TestWriteReadsBack(t *testing.T) {
	for name, content := range sample(t) {
		tr, err := NewReader(bytes.NewReader(content), name).Next()
		if err != nil {
			t.Fatal(err)
		}
		readsBack(t, tr)
	}
}

func TestWriteForm(t *testing.T) {
	tr := read(t, `{"id":"x","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[
	 {"t":0,"type":"s","model":"m","in":130,"out":0,"hash_ids":[1,2],"stop":"tool_use","input_types":["text"],"ttft":0.5},
	 {"t":10,"type":"subagent","agent_id":"a","subagent_type":"Plan","duration_ms":4000,"total_tokens":7,"status":"completed","requests":[
	  {"t":0,"type":"n","model":"m","in":64,"out":3,"hash_ids":[3],"api_time":1.5}]},
	 {"t":20,"type":"subagent","agent_id":"b","subagent_type":"Plan","duration_ms":null,"status":"async_launched","requests":[
	  {"t":0,"type":"n","model":"m","in":64,"out":3,"hash_ids":[4]}]}],
	 "totals":{"parent_tokens":{"input":130,"output":0},"subagent_tokens":{"input":128,"output":6},"combined_tokens":{"input":258,"output":6},"subagent_count":2}}`)
	var b strings.Builder
	if err := Write(&b, tr); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"x","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[` +
		`{"t":0,"type":"s","model":"m","in":130,"out":0,"hash_ids":[1,2],"input_types":["text"],"stop":"tool_use","ttft":0.5},` +
		`{"t":6,"type":"subagent","agent_id":"a","subagent_type":"Plan","duration_ms":4000,"status":"completed","models":[],"requests":[` +
		`{"t":6,"type":"n","model":"m","in":64,"out":3,"hash_ids":[3],"api_time":1.5}]},` +
		`{"t":20,"type":"subagent","agent_id":"b","subagent_type":"Plan","duration_ms":null,"status":"async_launched","models":[],"requests":[` +
		`{"t":20,"type":"n","model":"m","in":64,"out":3,"hash_ids":[4]}]}],` +
		`"totals":{"parent_tokens":{"input":130,"output":0},"subagent_tokens":{"input":128,"output":6},"combined_tokens":{"input":258,"output":6},"subagent_count":2}}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	readsBack(t, tr)
}

func TestWriteReportsErrors(t *testing.T) {
	tr := read(t, convertedExample)
	if err := Write(failing{}, tr); err == nil || !strings.Contains(err.Error(), "trace example: ") {
		t.Errorf("error %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
