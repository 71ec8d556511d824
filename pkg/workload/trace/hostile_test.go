package trace

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// smallTrace has every kind of value that the format knows.
const smallTrace = `{"id":"s","models":["m","k"],"block_size":64,"hash_id_scope":"local","tool_tokens":20,"system_tokens":10,"requests":[
 {"t":0.0,"type":"s","model":"m","in":192,"out":4,"hash_ids":[1,2,3],"input_types":["text"],"output_types":["tool_use"],"stop":"tool_use","api_time":2.25,"think_time":0.0,"ttft":1e-1},
 {"t":9.5,"type":"subagent","agent_id":"agent_001","subagent_type":"Explore","duration_ms":7000,"total_tokens":80,"tool_use_count":null,"status":"completed","models":["k"],"tool_tokens":1,"system_tokens":0,"requests":[
  {"t":0.0,"type":"n","model":"k","in":70,"out":1,"hash_ids":[4],"api_time":null}]}],
 "totals":{"parent_tokens":{"input":192,"output":4},"subagent_tokens":{"input":70,"output":1},"combined_tokens":{"input":262,"output":5},"subagent_count":1}}`

// Cut anywhere, a trace is an error that says so, and never half a trace.
func TestCutOff(t *testing.T) {
	read(t, smallTrace)
	for n := range len(smallTrace) {
		d := NewReader(strings.NewReader(smallTrace[:n]), "f.json")
		tr, err := d.Next()
		if n == 0 {
			if err != io.EOF {
				t.Errorf("nothing: %v", err)
			}
			continue
		}
		var e *Error
		if tr != nil || !errors.As(err, &e) || !strings.HasPrefix(e.Reason, "cut off at byte ") || e.File != "f.json" || e.Remedy == "" {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
		if _, err := d.Next(); err != io.EOF {
			t.Fatalf("cut at byte %d: then %v", n, err)
		}
	}
}

// endless gives head once and then body again and again, and counts.
type endless struct {
	head, body string
	at         int
	read       int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		var c int
		if e.at < len(e.head) {
			c = copy(p[n:], e.head[e.at:])
		} else {
			c = copy(p[n:], e.body[(e.at-len(e.head))%len(e.body):])
		}
		n += c
		e.at += c
	}
	e.read += n
	return n, nil
}

// Input without end is given up on before it fills the memory.
func TestEndless(t *testing.T) {
	repeat := func(s string) string { return strings.Repeat(s, 4096/len(s)) }
	for _, tt := range []struct{ name, head, body, want string }{
		{"list of ids", `{"id":"x","requests":[{"t":0,"hash_ids":[1`, repeat(",1"), "one value is larger"},
		{"string", `{"id":"`, repeat("a"), "one value is larger"},
		{"number", `{"block_size":1`, repeat("0"), "one value is larger"},
		{"white space", `{`, repeat(" "), "one value is larger"},
		{"unknown value", `{"extra":[1`, repeat(",[2]"), "one value is larger"},
		{"depth", `{"extra":`, repeat("["), "no valid JSON"},
		{"no object", `[1`, repeat(",[2]"), "one value is larger"},
		{"garbage", "", "\x00\x01\xfe", "no valid JSON at byte 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := &endless{head: tt.head, body: tt.body}
			d := NewReader(source, "f.json")
			d.limit = 1 << 20
			tr, err := d.Next()
			if tr != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v", err)
			}
			if _, err := d.Next(); err != io.EOF {
				t.Errorf("then %v", err)
			}
			if source.read > 3<<20 {
				t.Errorf("%d bytes were read", source.read)
			}
		})
	}
}

// The names of an object's members are kept by the decoder, so their number is bounded.
func TestTooManyMembers(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"id":"x"`)
	for i := range maxMembers {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	_, err := NewReader(strings.NewReader(b.String()), "f.json").Next()
	if err == nil || !strings.Contains(err.Error(), "more than 4096 members") {
		t.Errorf("%v", err)
	}
}

// After a bad trace the next one of the stream is read.
func TestReadsOn(t *testing.T) {
	d := NewReader(strings.NewReader(smallTrace+`{"id":"b","requests":[{"t":0,"type":"n","model":[{"x":1}]},{}]}[[2]] 3`+smallTrace+`{"id"`), "f.jsonl")
	var got []string
	for {
		tr, err := d.Next()
		if err == io.EOF {
			break
		}
		switch {
		case err == nil:
			got = append(got, tr.ID)
		case errors.Is(err, ErrNotTrace):
			got = append(got, "none")
		default:
			got = append(got, "bad")
		}
	}
	if s := strings.Join(got, " "); s != "s bad none none s bad" {
		t.Error(s)
	}
}
