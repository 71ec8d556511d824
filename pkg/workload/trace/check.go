package trace

import (
	"fmt"
	"strings"
	"unicode"
)

// check judges a trace whose every field has been read, and derives what needs
// all of them.
func (p *parse) check() error {
	t := p.t
	p.at = top
	if !p.listed {
		return &Error{File: p.File, Trace: t.ID, Reason: "the object is no trace", Err: ErrNotTrace}
	}
	if p.late != nil {
		return p.late
	}
	bad := func(field, reason, remedy string) error {
		return &Error{File: p.File, Trace: t.ID, Where: field, Reason: reason, Remedy: remedy}
	}
	switch {
	case t.ID == "":
		return bad("id", "the field is missing", "every trace needs an id of its own")
	case !nameable(t.ID) || strings.Contains(t.ID, "::"):
		return bad("id", fmt.Sprintf("%q cannot serve as a name", cut(t.ID)), `at most 256 printable characters, without "::", which parts a trace from its streams`)
	case p.block < 0:
		return bad("block_size", "the field is missing", "add the number of tokens that one id stands for, 64 in the public corpora")
	case p.block == 0:
		return bad("block_size", "it is 0", "it must be the number of tokens that one id stands for")
	case p.block > maxTokens:
		return bad("block_size", fmt.Sprintf("%d tokens are more than the %d that a prompt may have", p.block, maxTokens), "")
	case t.ToolTokens > maxTokens:
		return bad("tool_tokens", fmt.Sprintf("%d tokens are more than the %d that a prompt may have", t.ToolTokens, maxTokens), "")
	case t.SystemTokens > maxTokens:
		return bad("system_tokens", fmt.Sprintf("%d tokens are more than the %d that a prompt may have", t.SystemTokens, maxTokens), "")
	case p.scope == "":
		return bad("hash_id_scope", "the field is missing", `add "hash_id_scope": "local" if the ids mean something only inside this trace`)
	case p.scope != "local":
		return bad("hash_id_scope", fmt.Sprintf("scope %q is not supported", cut(p.scope)), `only "local" is: ids of different traces are unrelated`)
	}
	t.BlockSize = p.block
	return p.derive()
}

// derive fills in what depends on the block size and on all entries.
func (p *parse) derive() error {
	t := p.t
	listed := map[string]bool{}
	for _, m := range t.Models {
		listed[m] = true
	}
	agents := map[string]bool{}
	requests := 0
	t.ResolutionS = 1
	for i, e := range t.Entries {
		if e.Request != nil {
			if !whole(e.Request.StartS) {
				t.ResolutionS = 1e-6
			}
			if err := p.fit(e.Request, place{i, -1}, listed); err != nil {
				return err
			}
			requests++
			continue
		}
		if !nameable(e.Subagent.AgentID) {
			return &Error{File: p.File, Trace: t.ID, Where: place{i, -1}.field("agent_id"),
				Reason: fmt.Sprintf("%q cannot serve as a name", cut(e.Subagent.AgentID)), Remedy: "at most 256 printable characters"}
		}
		if agents[e.Subagent.AgentID] {
			return &Error{File: p.File, Trace: t.ID, Where: place{i, -1}.field("agent_id"),
				Reason: fmt.Sprintf("%q stands for two subagents", e.Subagent.AgentID), Remedy: "agent ids must be unique in a trace"}
		}
		agents[e.Subagent.AgentID] = true
		if !e.Subagent.DurationMs.Known && !e.Subagent.Background {
			t.note(NoteDurationMissing, place{i, -1}.field("duration_ms"), "the end is taken from the subagent's requests")
		}
		for j, r := range e.Subagent.Requests {
			if err := p.fit(r, place{i, j}, listed); err != nil {
				return err
			}
			requests++
		}
	}
	if requests == 0 {
		return &Error{File: p.File, Trace: t.ID, Where: "requests", Reason: "the trace holds no request"}
	}
	if !t.TotalsAgree() {
		t.note(NoteTotals, "totals", "the stated totals differ from the counted ones")
	}
	return nil
}

// fit checks a request's block list against its length (decisions.md 2).
func (p *parse) fit(r *Request, at place, listed map[string]bool) error {
	t := p.t
	floor := r.In / t.BlockSize
	ceil := (r.In + t.BlockSize - 1) / t.BlockSize
	n := int(r.Path.Len)
	switch {
	case n == floor:
	case n == ceil:
		t.note(NotePartialID, at.field("hash_ids"), "the id of a partial last block is not used")
	case n == 0:
		t.note(NoteHashless, at.field("hash_ids"), "without block ids the whole prompt is new")
	default:
		return &Error{File: p.File, Trace: t.ID, Where: at.field("hash_ids"),
			Reason: fmt.Sprintf("%d ids for a prompt of %d tokens in blocks of %d; want %s", n, r.In, t.BlockSize, fewOf(floor, ceil)),
			Remedy: "check the block size and the recorder"}
	}
	r.Whole = min(n, floor)
	if r.Out == 0 {
		t.note(NoteOutZero, at.field("out"), "an output of 0 tokens is replayed as 1")
	}
	if !r.APITimeS.Known {
		t.note(NoteAPITimeMissing, at.field("api_time"), "the recorded service time is unknown and counts as 0")
	}
	if !listed[r.Model] && len(listed) > 0 {
		t.note(NoteModelUnlisted, at.field("model"), "the trace's model list lacks it")
	}
	return nil
}

// nameable: ids stand in every record, in messages and in file names of results.
func nameable(id string) bool {
	return len(id) <= 256 && printable(id)
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })
}

func fewOf(floor, ceil int) string {
	if floor == ceil {
		return fmt.Sprint(floor)
	}
	return fmt.Sprintf("%d or %d", floor, ceil)
}

// checkRequest judges what can be judged before the block size is known.
func (p *parse) checkRequest(r *Request) error {
	switch {
	case r.Model == "":
		return p.lacks("model")
	case r.In < 0:
		return p.lacks("in")
	case r.In == 0:
		return &Error{File: p.File, Trace: p.t.ID, Where: p.at.field("in"), Reason: "a prompt of 0 tokens cannot be sent"}
	case r.In > maxTokens:
		return &Error{File: p.File, Trace: p.t.ID, Where: p.at.field("in"), Reason: fmt.Sprintf("%d tokens are more than the %d that a prompt may have", r.In, maxTokens)}
	case r.Out < 0:
		return p.lacks("out")
	case r.Out > maxTokens:
		return &Error{File: p.File, Trace: p.t.ID, Where: p.at.field("out"), Reason: fmt.Sprintf("%d tokens are more than the %d that an answer may have", r.Out, maxTokens)}
	}
	return nil
}

// checkTimes judges a normalised marker; early is what normalise found.
func (p *parse) checkTimes(s *Subagent, early int) error {
	bad := func(i int, reason, remedy string) error {
		return &Error{File: p.File, Trace: p.t.ID, Where: place{p.at.entry, i}.field("t"), Reason: reason, Remedy: remedy}
	}
	if early >= 0 {
		return bad(early, fmt.Sprintf("%g s is before the start of its subagent at %g s", s.Requests[early].StartS, s.StartS),
			"if the times count from the subagent's start, read the corpus with the relative basis")
	}
	for i, r := range s.Requests {
		if r.StartS > maxTimeS {
			return bad(i, fmt.Sprintf("%g s is no time: want 0 to %g seconds", r.StartS, float64(maxTimeS)), "")
		}
	}
	return nil
}

// maxTimeS is 30,000 years; a millisecond is still exact there.
const maxTimeS = 1e12

// maxTokens is far above any context window; beyond it a number is a mistake.
const maxTokens = 1 << 26
