package trace

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files anew")

const good = `{"t":0,"type":"n","model":"m","in":130,"out":5,"hash_ids":[1,2]}`

// with is a trace with these requests, otherwise whole.
func with(requests string) string {
	return `{"id":"x","block_size":64,"hash_id_scope":"local","requests":[` + requests + `]}`
}

func marker(fields, requests string) string {
	return `{"t":5,"type":"subagent","agent_id":"a","subagent_type":"Plan","status":"completed"` + fields + `,"requests":[` + requests + `]}`
}

var refusals = []struct{ name, json string }{
	{"no id", `{"block_size":64,"hash_id_scope":"local","requests":[` + good + `]}`},
	{"id of the wrong type", `{"id":{"a":[1]},"block_size":64,"hash_id_scope":"local","requests":[` + good + `]}`},
	{"id that parts streams", `{"id":"a::b","block_size":64,"hash_id_scope":"local","requests":[` + good + `]}`},
	{"id with control characters", `{"id":"a\u001b[1m","block_size":64,"hash_id_scope":"local","requests":[` + good + `]}`},
	{"no block size", `{"id":"x","hash_id_scope":"local","requests":[` + good + `]}`},
	{"block size 0", `{"id":"x","block_size":0,"hash_id_scope":"local","requests":[` + good + `]}`},
	{"block size beyond reason", `{"id":"x","block_size":1e9,"hash_id_scope":"local","requests":[` + good + `]}`},
	{"block size negative", `{"id":"x","block_size":-64,"hash_id_scope":"local","requests":[` + good + `]}`},
	{"block size fractional", `{"id":"x","block_size":64.5,"hash_id_scope":"local","requests":[` + good + `]}`},
	{"tool tokens beyond reason", `{"id":"x","block_size":64,"hash_id_scope":"local","tool_tokens":99999999,"requests":[` + good + `]}`},
	{"system tokens beyond reason", `{"id":"x","block_size":64,"hash_id_scope":"local","system_tokens":99999999,"requests":[` + good + `]}`},
	{"no scope", `{"id":"x","block_size":64,"requests":[` + good + `]}`},
	{"global scope", `{"id":"x","block_size":64,"hash_id_scope":"global","requests":[` + good + `]}`},
	{"models no list", `{"id":"x","models":"m","block_size":64,"hash_id_scope":"local","requests":[` + good + `]}`},
	{"models of numbers", `{"id":"x","models":[1],"block_size":64,"hash_id_scope":"local","requests":[` + good + `]}`},
	{"no request", with("")},
	{"only an empty subagent", with(marker("", ""))},
	{"a request that is a number", with(good + ",7")},
	{"a request that is null", with("null")},
	{"no t", with(`{"type":"n","model":"m","in":130,"out":5}`)},
	{"t a string", with(`{"t":"0","type":"n","model":"m","in":130,"out":5}`)},
	{"t negative", with(good + `,{"t":-1,"type":"n","model":"m","in":130,"out":5}`)},
	{"t beyond reason", with(`{"t":1e300,"type":"n","model":"m","in":130,"out":5}`)},
	{"no type", with(`{"t":0,"model":"m","in":130,"out":5}`)},
	{"unknown type", with(`{"t":0,"type":"x","model":"m","in":130,"out":5}`)},
	{"no model", with(`{"t":0,"type":"n","in":130,"out":5}`)},
	{"no in", with(`{"t":0,"type":"n","model":"m","out":5}`)},
	{"in 0", with(`{"t":0,"type":"n","model":"m","in":0,"out":5}`)},
	{"in beyond reason", with(`{"t":0,"type":"n","model":"m","in":100000000,"out":5}`)},
	{"in beyond 64 bits", with(`{"t":0,"type":"n","model":"m","in":99999999999999999999999,"out":5}`)},
	{"no out", with(`{"t":0,"type":"n","model":"m","in":130}`)},
	{"out null", with(`{"t":0,"type":"n","model":"m","in":130,"out":null}`)},
	{"out beyond reason", with(`{"t":0,"type":"n","model":"m","in":130,"out":100000000}`)},
	{"api_time a string", with(`{"t":0,"type":"n","model":"m","in":130,"out":5,"api_time":"1"}`)},
	{"too few ids", with(good + `,{"t":1,"type":"n","model":"m","in":6400,"out":5,"hash_ids":[1,2,3]}`)},
	{"too many ids", with(good + `,{"t":1,"type":"n","model":"m","in":130,"out":5,"hash_ids":[1,2,3,4]}`)},
	{"too many ids for whole blocks", with(`{"t":1,"type":"n","model":"m","in":128,"out":5,"hash_ids":[1,2,3]}`)},
	{"ids no list", with(`{"t":0,"type":"n","model":"m","in":130,"out":5,"hash_ids":{"a":1}}`)},
	{"id negative", with(`{"t":0,"type":"n","model":"m","in":130,"out":5,"hash_ids":[1,-2]}`)},
	{"id fractional", with(`{"t":0,"type":"n","model":"m","in":130,"out":5,"hash_ids":[1,2.5]}`)},
	{"id a string", with(`{"t":0,"type":"n","model":"m","in":130,"out":5,"hash_ids":["a1","a2"]}`)},
	{"id too large", with(`{"t":0,"type":"n","model":"m","in":130,"out":5,"hash_ids":[1,2147483648]}`)},
	{"a key twice", with(`{"t":0,"t":1,"type":"n","model":"m","in":130,"out":5}`)},
	{"no agent id", with(good + `,{"t":5,"type":"subagent","subagent_type":"Plan","status":"completed","requests":[` + good + `]}`)},
	{"agent id twice", with(good + "," + marker("", good) + "," + marker("", good))},
	{"agent id with control characters", with(good + "," + strings.Replace(marker("", good), `"a"`, `"a\n"`, 1))},
	{"subagent inside a subagent", with(good + "," + marker("", good+","+marker("", good)))},
	{"marker inside a subagent", with(good + "," + marker("", `{"t":5,"type":"subagent","agent_id":"b"}`))},
	{"bad request inside a subagent", with(good + "," + marker("", good+`,{"t":1,"type":"n","model":"m","in":130,"out":5,"hash_ids":[1]}`))},
	{"request before its subagent", with(good + "," + marker("", strings.Replace(good, `"t":0`, `"t":5`, 1)+","+strings.Replace(good, `"t":0`, `"t":4`, 1)))},
	{"relative times beyond reason", with(`{"t":1e12,"type":"subagent","agent_id":"a","requests":[{"t":9e11,"type":"n","model":"m","in":10,"out":5}]}`)},
	{"no JSON", "trace"},
	{"no JSON inside", `{"id":"x","requests":[{"t":0,]}`},
	{"half a character", "{\"id\":\"\xff\"}"},
	{"too deep", `{"id":"x","extra":` + strings.Repeat("[", 20_000)},
	{"a closing bracket", "]"},
}

// Every refusal names file, trace, entry and field, and what to do.
func TestRefusals(t *testing.T) {
	var got strings.Builder
	for _, r := range refusals {
		tr, err := NewReader(strings.NewReader(r.json), "f.json").Next()
		var e *Error
		if tr != nil || !errors.As(err, &e) || errors.Is(err, ErrNotTrace) {
			t.Errorf("%s: trace %v, error %v", r.name, tr != nil, err)
			continue
		}
		// The JSON library words some errors differently from build to build.
		fmt.Fprintf(&got, "%s\n\t%s\n", r.name, strings.ReplaceAll(err.Error(), "unable to", "cannot"))
	}
	const golden = "testdata/refusals.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

// A file that is no trace is told from a bad trace, whatever its fields hold.
func TestNotTrace(t *testing.T) {
	for _, content := range []string{`7`, `"s"`, `null`, `[]`, `[{"requests":[]}]`, `{}`, `{"id":7,"models":{"a":[]}}`, `{"requests":{"a":1},"id":[]}`, `{"requests":null}`, `{"total":{},"traces":[{"id":1}]}`} {
		d := NewReader(strings.NewReader(content), "f.json")
		if tr, err := d.Next(); tr != nil || !errors.Is(err, ErrNotTrace) {
			t.Errorf("%s: %v", content, err)
		}
		if _, err := d.Next(); err != io.EOF {
			t.Errorf("%s: then %v", content, err)
		}
	}
}
