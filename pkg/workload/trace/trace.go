package trace

import (
	"math"
	"strings"
)

// Trace is one recorded session.
type Trace struct {
	ID     string
	File   string // where it came from, for messages
	Models []string

	BlockSize    int // tokens a block
	ToolTokens   int // tokens of tool definitions at the start of the root's first prompt
	SystemTokens int // tokens of the system prompt after them

	Entries []Entry // in list order, which matters (spec/replay.md §2.6)
	Totals  *Totals // as the file states them; nil when it does not
	Blocks  *Blocks

	// ResolutionS is the resolution of the recorded times: 1 s when all main
	// times are whole seconds, else a microsecond (decisions.md 6).
	ResolutionS float64

	Notes []Note
}

// Entry is one element of the request list: exactly one field is set.
type Entry struct {
	Request  *Request
	Subagent *Subagent
}

// Request is one recorded request.
type Request struct {
	StartS   float64 // since the start of the root trace, also inside a subagent
	Streamed bool    // type "s"
	Model    string
	In, Out  int  // tokens
	Path     Path // its block ids, as many as were recorded
	Whole    int  // whole blocks: ids below floor(In/BlockSize) (decisions.md 2)

	InputTypes, OutputTypes []string
	Stop                    string

	APITimeS   Opt // how long the recorded server took
	ThinkTimeS Opt
	TTFTS      Opt
}

// EndS is the start plus the recorded server time, a missing one taken as 0.
func (r *Request) EndS() float64 { return r.StartS + r.APITimeS.Or(0) }

// Subagent is a marker with the requests of one subagent, on the root's clock.
type Subagent struct {
	StartS, EndS float64
	Background   bool // launched asynchronously: nobody joins it (decisions.md 5)
	Relative     bool // the file gave inner times relative to the start, and the end as the marker's time

	AgentID, Type, Status    string
	DurationMs               Opt
	Models                   []string
	ToolTokens, SystemTokens int
	Requests                 []*Request
}

// Totals are the sums a file states about itself.
type Totals struct {
	ParentIn, ParentOut, SubagentIn, SubagentOut, CombinedIn, CombinedOut, SubagentCount int64
}

// Opt is a number that may be absent. The zero Opt is absent.
type Opt struct {
	Value float64
	Known bool
}

// Some is a present number.
func Some(v float64) Opt { return Opt{v, true} }

// Or is the number, or other when it is absent.
func (o Opt) Or(other float64) float64 {
	if o.Known {
		return o.Value
	}
	return other
}

// Note is something odd that was handled: how often, and where first.
type Note struct {
	Code  NoteCode
	Where string // of the first occurrence: requests[3].api_time
	Text  string
	Count int
}

// NoteCode names a kind of oddity.
type NoteCode string

// The oddities a trace may have and still be used (spec/traces.md §9).
const (
	NoteUnknownKey      NoteCode = "unknown_key"
	NoteAPITimeMissing  NoteCode = "api_time_missing"
	NoteNegative        NoteCode = "negative_time"
	NoteOutZero         NoteCode = "out_zero"
	NoteHashless        NoteCode = "no_block_ids"
	NotePartialID       NoteCode = "partial_block_id"
	NoteEmptySubagent   NoteCode = "empty_subagent"
	NoteModelUnlisted   NoteCode = "model_unlisted"
	NoteTotals          NoteCode = "totals_disagree"
	NoteDurationMissing NoteCode = "duration_missing"
)

func (t *Trace) note(code NoteCode, where, text string) {
	where, text = cut(where), cut(text)
	for i := range t.Notes {
		if t.Notes[i].Code == code && (code != NoteUnknownKey || t.Notes[i].Text == text) {
			t.Notes[i].Count++
			return
		}
	}
	if len(t.Notes) < 100 {
		t.Notes = append(t.Notes, Note{Code: code, Where: where, Text: text, Count: 1})
	}
}

// cut shortens what a file brought along, for messages.
func cut(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// All calls yield for every request in list order, a subagent's inside its
// place. sub is nil for main requests.
func (t *Trace) All(yield func(r *Request, sub *Subagent) bool) {
	for _, e := range t.Entries {
		if e.Request != nil {
			if !yield(e.Request, nil) {
				return
			}
			continue
		}
		for _, r := range e.Subagent.Requests {
			if !yield(r, e.Subagent) {
				return
			}
		}
	}
}

// sums are the totals as counted.
func (t *Trace) sums() Totals {
	var s Totals
	for _, e := range t.Entries {
		if e.Subagent != nil {
			s.SubagentCount++
		}
	}
	for r, sub := range t.All {
		if sub == nil {
			s.ParentIn += int64(r.In)
			s.ParentOut += int64(r.Out)
		} else {
			s.SubagentIn += int64(r.In)
			s.SubagentOut += int64(r.Out)
		}
	}
	s.CombinedIn, s.CombinedOut = s.ParentIn+s.SubagentIn, s.ParentOut+s.SubagentOut
	return s
}

// TotalsAgree reports whether the stated totals equal the counted ones; a trace
// that states none agrees.
func (t *Trace) TotalsAgree() bool { return t.Totals == nil || *t.Totals == t.sums() }

func whole(s float64) bool { return s == math.Trunc(s) }
