package trace

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Write writes a trace as one line of JSON in the newer family's form: a marker's
// time is its start, inner times are absolute (spec/traces.md §10.1). What a
// trace does not have is left out. Reading it back gives an equal trace, but for
// [Trace.File] and [Subagent.Relative].
func Write(w io.Writer, t *Trace) error {
	o := &out{enc: jsontext.NewEncoder(w), blocks: t.Blocks}
	o.object(func() {
		o.str("id", t.ID)
		o.strs("models", t.Models)
		o.whole("block_size", t.BlockSize)
		o.str("hash_id_scope", "local")
		if t.ToolTokens != 0 || t.SystemTokens != 0 {
			o.whole("tool_tokens", t.ToolTokens)
			o.whole("system_tokens", t.SystemTokens)
		}
		o.list("requests", func() {
			for _, e := range t.Entries {
				if e.Request != nil {
					o.request(e.Request)
				} else {
					o.subagent(e.Subagent)
				}
			}
		})
		if t.Totals != nil {
			o.totals(t.Totals)
		}
	})
	if o.err != nil {
		return fmt.Errorf("trace %s: %w", t.ID, o.err)
	}
	return nil
}

// out writes members until the first error, which it keeps.
type out struct {
	enc    *jsontext.Encoder
	blocks *Blocks
	spans  [][]int32
	text   []byte
	err    error
}

func (o *out) token(t jsontext.Token) {
	if o.err == nil {
		o.err = o.enc.WriteToken(t)
	}
}

func (o *out) object(members func()) {
	o.token(jsontext.BeginObject)
	members()
	o.token(jsontext.EndObject)
}

func (o *out) list(key string, elements func()) {
	o.token(jsontext.String(key))
	o.token(jsontext.BeginArray)
	elements()
	o.token(jsontext.EndArray)
}

func (o *out) str(key, s string) {
	o.token(jsontext.String(key))
	o.token(jsontext.String(s))
}

func (o *out) strs(key string, list []string) {
	o.list(key, func() {
		for _, s := range list {
			o.token(jsontext.String(s))
		}
	})
}

func (o *out) whole(key string, n int) {
	o.token(jsontext.String(key))
	o.token(jsontext.Int(int64(n)))
}

func (o *out) number(key string, x float64) {
	o.token(jsontext.String(key))
	o.token(jsontext.Float(x))
}

func (o *out) known(key string, x Opt) {
	if x.Known {
		o.number(key, x.Value)
	}
}

func (o *out) request(r *Request) {
	o.object(func() {
		o.number("t", r.StartS)
		kind := "n"
		if r.Streamed {
			kind = "s"
		}
		o.str("type", kind)
		o.str("model", r.Model)
		o.whole("in", r.In)
		o.whole("out", r.Out)
		o.token(jsontext.String("hash_ids"))
		o.ids(r.Path)
		if len(r.InputTypes) > 0 {
			o.strs("input_types", r.InputTypes)
		}
		if len(r.OutputTypes) > 0 {
			o.strs("output_types", r.OutputTypes)
		}
		if r.Stop != "" {
			o.str("stop", r.Stop)
		}
		o.known("api_time", r.APITimeS)
		o.known("think_time", r.ThinkTimeS)
		o.known("ttft", r.TTFTS)
	})
}

// ids writes a list of block ids, which is nearly all of a trace, as one value.
func (o *out) ids(p Path) {
	o.spans = o.blocks.Spans(o.spans[:0], p, 0, int(p.Len))
	o.text = append(o.text[:0], '[')
	for _, span := range o.spans {
		for _, id := range span {
			o.text = append(strconv.AppendInt(o.text, int64(id), 10), ',')
		}
	}
	o.text = append(bytes.TrimSuffix(o.text, []byte{','}), ']')
	if o.err == nil {
		o.err = o.enc.WriteValue(o.text)
	}
}

func (o *out) subagent(s *Subagent) {
	o.object(func() {
		o.number("t", s.StartS)
		o.str("type", "subagent")
		o.str("agent_id", s.AgentID)
		o.str("subagent_type", s.Type)
		o.token(jsontext.String("duration_ms"))
		if s.DurationMs.Known {
			o.token(jsontext.Float(s.DurationMs.Value))
		} else {
			o.token(jsontext.Null)
		}
		o.str("status", s.Status)
		o.strs("models", s.Models)
		if s.ToolTokens != 0 || s.SystemTokens != 0 {
			o.whole("tool_tokens", s.ToolTokens)
			o.whole("system_tokens", s.SystemTokens)
		}
		o.list("requests", func() {
			for _, r := range s.Requests {
				o.request(r)
			}
		})
	})
}

func (o *out) totals(t *Totals) {
	pair := func(key string, in, out int64) {
		o.token(jsontext.String(key))
		o.object(func() {
			o.whole("input", int(in))
			o.whole("output", int(out))
		})
	}
	o.token(jsontext.String("totals"))
	o.object(func() {
		pair("parent_tokens", t.ParentIn, t.ParentOut)
		pair("subagent_tokens", t.SubagentIn, t.SubagentOut)
		pair("combined_tokens", t.CombinedIn, t.CombinedOut)
		o.whole("subagent_count", int(t.SubagentCount))
	})
}
