package trace

import (
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// parse reads one trace object.
type parse struct {
	*Reader
	t       *Trace
	builder *Builder
	at      place
	scope   string
	block   int
	listed  bool // the object has a list "requests"
	items   int  // entries and inner requests so far

	// late is the first error of a field beside the requests. It waits until it is
	// clear that the object is a trace at all.
	late error
}

// members calls member for each member of the object that comes next, with the
// decoder standing before the value. within stands before the keys in messages.
func (p *parse) members(within string, member func(key string) error) error {
	if tok, err := p.dec.ReadToken(); err != nil {
		return err
	} else if tok.Kind() != '{' {
		return fmt.Errorf("found %v, want an object", tok.Kind())
	}
	for n := 0; p.dec.PeekKind() != '}'; n++ {
		if n >= maxMembers {
			return fmt.Errorf("the object has more than %d members", maxMembers)
		}
		tok, err := p.dec.ReadToken()
		if err != nil {
			return err
		}
		key := p.intern(tok.String())
		if err := member(key); err != nil {
			return p.fail(p.t, p.at, within+key, err)
		}
	}
	_, err := p.dec.ReadToken()
	return err
}

// elements calls element for each element of the array that comes next.
func (p *parse) elements(element func(i int) error) error {
	if tok, err := p.dec.ReadToken(); err != nil {
		return err
	} else if tok.Kind() != '[' {
		return fmt.Errorf("found %v, want a list", tok.Kind())
	}
	for i := 0; p.dec.PeekKind() != ']'; i++ {
		if err := element(i); err != nil {
			return err
		}
	}
	_, err := p.dec.ReadToken()
	return err
}

func (p *parse) trace() error {
	t := p.t
	p.at = top
	err := p.members("", func(key string) (err error) {
		switch key {
		case "id":
			t.ID, err = p.str()
		case "models":
			t.Models, err = p.strs()
		case "block_size":
			p.block, err = p.whole()
		case "hash_id_scope":
			p.scope, err = p.str()
		case "tool_tokens":
			t.ToolTokens, err = p.whole()
		case "system_tokens":
			t.SystemTokens, err = p.whole()
		case "totals":
			t.Totals, err = p.totals()
		case "requests":
			if p.dec.PeekKind() != '[' {
				return p.skip()
			}
			p.listed = true
			err = p.elements(p.entry)
			p.at = top
			return err
		default:
			p.t.note(NoteUnknownKey, key, key)
			return p.skip()
		}
		if err == nil {
			return nil
		}
		if key == "totals" { // only a self-check
			p.t.note(NoteTotals, key, "the stated totals cannot be read")
			t.Totals = nil
		} else if p.late == nil {
			p.late = p.fail(t, top, key, err)
		}
		return p.drain(1) // what is left of the value
	})
	if err != nil {
		return p.fail(t, p.at, "", err)
	}
	return p.check()
}

// entry reads one element of the request list.
func (p *parse) entry(i int) error {
	p.at = place{i, -1}
	r, sub, err := p.item()
	if err != nil {
		return p.fail(p.t, p.at, "", err)
	}
	if sub != nil {
		if len(sub.Requests) == 0 {
			p.t.note(NoteEmptySubagent, p.at.field("requests"), "a subagent without requests is left out")
		}
		p.t.Entries = append(p.t.Entries, Entry{Subagent: sub})
		return nil
	}
	p.t.Entries = append(p.t.Entries, Entry{Request: r})
	return nil
}

// item reads a request or a marker: which it is, is known only after its last key.
func (p *parse) item() (*Request, *Subagent, error) {
	r, s := &Request{Path: Path{Run: noRun}, In: -1, Out: -1}, &Subagent{}
	var kind string
	start := -1.0
	if p.items++; p.items > MaxRequests {
		return nil, nil, fmt.Errorf("the trace has more than %d entries and requests", MaxRequests)
	}
	err := p.members("", func(key string) (err error) {
		switch key {
		case "t":
			start, err = p.seconds()
		case "type":
			kind, err = p.str()
		case "model":
			r.Model, err = p.str()
		case "in", "input_length":
			r.In, err = p.whole()
		case "out", "output_length":
			r.Out, err = p.whole()
		case "hash_ids":
			r.Path, err = p.hashIDs()
		case "input_types":
			r.InputTypes, err = p.strs()
		case "output_types":
			r.OutputTypes, err = p.strs()
		case "stop":
			r.Stop, err = p.str()
		case "api_time":
			r.APITimeS, err = p.optional(key)
		case "think_time":
			r.ThinkTimeS, err = p.optional(key)
		case "ttft":
			r.TTFTS, err = p.optional(key)
		case "agent_id":
			s.AgentID, err = p.str()
		case "subagent_type":
			s.Type, err = p.str()
		case "status":
			s.Status, err = p.str()
		case "duration_ms":
			s.DurationMs, err = p.optional(key)
		case "models":
			s.Models, err = p.strs()
		case "tool_tokens":
			s.ToolTokens, err = p.whole()
		case "system_tokens":
			s.SystemTokens, err = p.whole()
		case "total_tokens", "tool_use_count":
			err = p.skip() // not to be trusted (spec/traces.md §7.4)
		case "requests":
			if p.at.inner >= 0 {
				return p.nested()
			}
			err = p.inner(s)
		default:
			p.t.note(NoteUnknownKey, p.at.field(key), key)
			err = p.skip()
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if start < 0 {
		return nil, nil, p.lacks("t")
	}
	switch kind {
	case "n", "s":
		r.StartS, r.Streamed = start, kind == "s"
		return r, nil, p.checkRequest(r)
	case "subagent":
		if p.at.inner >= 0 {
			return nil, nil, p.nested()
		}
		if s.AgentID == "" {
			return nil, nil, p.lacks("agent_id")
		}
		return nil, s, p.checkTimes(s, s.normalise(start, p.Basis))
	case "":
		return nil, nil, p.lacks("type")
	default:
		return nil, nil, &Error{File: p.File, Trace: p.t.ID, Where: p.at.field("type"),
			Reason: fmt.Sprintf("unknown type %q", cut(kind)), Remedy: `known are "n", "s" and "subagent"`}
	}
}

func (p *parse) inner(s *Subagent) error {
	entry := p.at.entry
	err := p.elements(func(i int) error {
		p.at = place{entry, i}
		r, _, err := p.item()
		if err != nil {
			return p.fail(p.t, p.at, "", err)
		}
		s.Requests = append(s.Requests, r)
		return nil
	})
	if err == nil {
		p.at = place{entry, -1}
	}
	return err
}

func (p *parse) lacks(field string) error {
	return &Error{File: p.File, Trace: p.t.ID, Where: p.at.field(field), Reason: "the field is missing"}
}

func (p *parse) nested() error {
	return &Error{File: p.File, Trace: p.t.ID, Where: p.at.field(""), Reason: "a subagent inside a subagent",
		Remedy: "the format knows one level: put it beside the one that holds it"}
}

func (p *parse) totals() (*Totals, error) {
	if p.dec.PeekKind() == 'n' {
		return nil, p.skip()
	}
	totals := &Totals{}
	pair := func(in, out *int64) error {
		return p.members("totals.", func(key string) (err error) {
			var n int
			switch key {
			case "input":
				n, err = p.whole()
				*in = int64(n)
			case "output":
				n, err = p.whole()
				*out = int64(n)
			default:
				err = p.skip()
			}
			return err
		})
	}
	err := p.members("totals.", func(key string) (err error) {
		switch key {
		case "parent_tokens":
			return pair(&totals.ParentIn, &totals.ParentOut)
		case "subagent_tokens":
			return pair(&totals.SubagentIn, &totals.SubagentOut)
		case "combined_tokens":
			return pair(&totals.CombinedIn, &totals.CombinedOut)
		case "subagent_count":
			var n int
			n, err = p.whole()
			totals.SubagentCount = int64(n)
		default:
			err = p.skip()
		}
		return err
	})
	return totals, err
}

func (p *parse) intern(s string) string {
	if known, ok := p.names[s]; ok {
		return known
	}
	if len(p.names) < 1<<16 && len(s) < 1<<10 {
		p.names[s] = s
	}
	return s
}

func (p *parse) str() (string, error) {
	tok, err := p.dec.ReadToken()
	if err != nil {
		return "", err
	}
	if tok.Kind() != '"' {
		return "", fmt.Errorf("found %v, want a string", tok.Kind())
	}
	return p.intern(tok.String()), nil
}

// strs reads a list of strings. Equal lists share their storage.
func (p *parse) strs() ([]string, error) {
	v, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if known, ok := p.lists[string(v)]; ok {
		return known, nil
	}
	raw := string(v)
	list, err := stringList(v)
	if err == nil && len(p.lists) < 1<<12 && len(raw) < 1<<10 {
		p.lists[raw] = list
	}
	return list, err
}

// whole reads a whole number of at least 0.
func (p *parse) whole() (int, error) {
	tok, err := p.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(tok.String(), 10, 64)
	if err != nil {
		f, ferr := tok.Float()
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<52 {
			return 0, fmt.Errorf("%s is no whole number in range", cut(tok.String()))
		}
		n = int64(f)
	}
	if n < 0 {
		return 0, fmt.Errorf("%d is negative", n)
	}
	return int(n), nil
}

// seconds reads a time that must be there and not negative.
func (p *parse) seconds() (float64, error) {
	tok, err := p.number()
	if err != nil {
		return 0, err
	}
	s, err := tok.Float()
	if err != nil || s < 0 || s > maxTimeS {
		return 0, fmt.Errorf("%s is no time: want 0 to %g seconds", cut(tok.String()), float64(maxTimeS))
	}
	return s, nil
}

// optional reads a number or null. A negative one is noted and taken as absent
// (spec/replay.md §2.4).
func (p *parse) optional(key string) (Opt, error) {
	if p.dec.PeekKind() == 'n' {
		return Opt{}, p.skip()
	}
	tok, err := p.number()
	if err != nil {
		return Opt{}, err
	}
	v, err := tok.Float()
	if err != nil || v < 0 || v > 1000*maxTimeS {
		p.t.note(NoteNegative, p.at.field(key), "a negative or unbounded time is taken as absent")
		return Opt{}, nil //nolint:nilerr // a number that no float holds is one of the unbounded ones
	}
	return Some(v), nil
}

func (p *parse) number() (jsontext.Token, error) {
	tok, err := p.dec.ReadToken()
	if err == nil && tok.Kind() != '0' {
		err = fmt.Errorf("found %v, want a number", tok.Kind())
	}
	return tok, err
}

// hashIDs reads a list of block ids and stores it.
func (p *parse) hashIDs() (Path, error) {
	v, err := p.dec.ReadValue()
	if err != nil {
		return Path{}, err
	}
	// The builder still compares with the last list, so two buffers take turns.
	p.flip ^= 1
	ids, err := intList(p.idBufs[p.flip][:0], v)
	p.idBufs[p.flip] = ids
	if err != nil {
		return Path{}, err
	}
	return p.builder.Add(ids), nil
}
