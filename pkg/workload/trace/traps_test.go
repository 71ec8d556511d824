package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace/tracetest"
)

// figures are what the traps of spec/traces.md §9 are about.
type figures struct {
	main, subagents          int
	noAPITime, noThink       int
	thinkReachesBack         int // think times longer than from start to start
	zeroOut, silent          int // silent: no stop and no output types, although there is output
	distinct, maxID          int
	unordered                bool // ids do not increase in file order
	partial                  int
	pullbacks, nothingShared int
	olderLonger              int // a request before the last one gives the longer prefix
	overlaps, modelSwitches  int
	relative, background     int
	noDuration               int
	unlisted                 bool
	over200k, assistantIn    int
	longestGapS              float64
}

func figuresOf(t *Trace) figures {
	f := figures{distinct: t.Blocks.Distinct(), maxID: -1}
	hits := t.Hits()
	last := int32(-1)
	var before *Request
	for r, sub := range t.All {
		for _, id := range t.Blocks.IDs(nil, r.Path) {
			if int(id) > f.maxID {
				f.maxID = int(id)
			}
		}
		if ids := t.Blocks.IDs(nil, r.Path); len(ids) > 0 {
			fresh := ids[hits[r].Instant:]
			if len(fresh) > 0 {
				f.unordered = f.unordered || fresh[0] < last
				last = fresh[len(fresh)-1]
			}
		}
		if int(r.Path.Len) > r.Whole {
			f.partial++
		}
		if sub != nil {
			continue
		}
		f.main++
		count := func(n *int, yes bool) {
			if yes {
				*n++
			}
		}
		count(&f.noAPITime, !r.APITimeS.Known)
		count(&f.noThink, !r.ThinkTimeS.Known)
		count(&f.zeroOut, r.Out == 0)
		count(&f.silent, r.Stop == "" && len(r.OutputTypes) == 0 && r.Out > 0)
		count(&f.over200k, r.In > 200_000)
		count(&f.assistantIn, slices.Contains(r.InputTypes, "tool_use") || slices.Contains(r.InputTypes, "thinking"))
		if before != nil {
			kept := t.Blocks.CommonPrefix(before.Path, r.Path)
			count(&f.thinkReachesBack, r.ThinkTimeS.Known && r.ThinkTimeS.Value > r.StartS-before.StartS)
			count(&f.pullbacks, float64(kept) < 0.9*float64(before.Path.Len))
			count(&f.nothingShared, kept == 0)
			count(&f.olderLonger, hits[r].Instant > hits[r].PrevTurn)
			count(&f.overlaps, r.StartS+1 < before.EndS())
			count(&f.modelSwitches, r.Model != before.Model)
			f.longestGapS = max(f.longestGapS, r.StartS-before.EndS())
		}
		before = r
	}
	for _, e := range t.Entries {
		if s := e.Subagent; s != nil {
			f.subagents++
			if s.Relative {
				f.relative++
			}
			if s.Background {
				f.background++
			}
			if !s.DurationMs.Known {
				f.noDuration++
			}
		}
	}
	f.unlisted = notes(t)[NoteModelUnlisted] > 0
	return f
}

// The trap list of spec/traces.md §9 on the real sample, with the figures that
// it and trace-stats.json give for these files. The numbers are the list's.
func TestTrapsInSample(t *testing.T) {
	files := sample(t)
	at := func(id string) (*Trace, figures) {
		tr, err := NewReader(bytes.NewReader(files[id+".json"]), id+".json").Next()
		if err != nil {
			t.Fatal(err)
		}
		return tr, figuresOf(tr)
	}
	want := func(trap int, id string, what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("trap %d, %s: %s is %v, want %v", trap, id, what, got, want)
		}
	}

	t0014, f := at("trace_0014")
	want(8, "trace_0014", "dense", f.maxID > f.distinct, true)
	want(12, "trace_0014", "pull-backs", f.pullbacks, 6)
	want(14, "trace_0014", "longer prefixes", f.olderLonger, 1)
	want(19, "trace_0014", "subagents", f.subagents, 1)
	want(19, "trace_0014", "requests", len(allOf(t0014)), 123)
	_, f = at("trace_0022")
	want(8, "trace_0022", "largest id", f.maxID, 1083)
	want(8, "trace_0022", "distinct ids", f.distinct, 682)
	t0058, f := at("trace_0058")
	want(3, "trace_0058", "requests without api_time", f.noAPITime, 3)
	want(3, "trace_0058", "notes", notes(t0058)[NoteAPITimeMissing], 3)
	want(4, "trace_0058", "requests without think_time", f.noThink, 3)
	_, f = at("trace_0105")
	want(6, "trace_0105", "requests with out 0", f.zeroOut, 4)
	want(23, "trace_0105", "contexts above 200 k", f.over200k, 16)
	_, f = at("trace_0242")
	want(5, "trace_0242", "think times that reach back", f.thinkReachesBack, 1)
	t0277, f := at("trace_0277")
	want(9, "trace_0277", "out of order", f.unordered, true)
	want(17, "trace_0277", "relative subagents", f.relative, 4)
	for _, e := range t0277.Entries {
		for _, r := range t0277.Entries {
			if e.Subagent != nil && r.Request != nil && r.Request.StartS < e.Subagent.EndS && e.Subagent.StartS < r.Request.EndS() {
				t.Errorf("trap 17: %s overlaps the main request at %g s", e.Subagent.AgentID, r.Request.StartS)
			}
		}
	}
	_, f = at("trace_0291")
	want(22, "trace_0291", "unlisted models", f.unlisted, true)
	_, f = at("trace_0295")
	want(1, "trace_0295", "main requests", f.main, 324)
	want(12, "trace_0295", "pull-backs", f.pullbacks, 12)
	want(18, "trace_0295", "durations missing", f.noDuration, 4)
	want(21, "trace_0295", "background subagents", f.background, 4)
	want(21, "trace_0295", "subagents", f.subagents, 8)
	t0300, f := at("trace_0300")
	want(3, "trace_0300", "requests without api_time", f.noAPITime, 119)
	want(7, "trace_0300", "silent requests", f.silent > 0, true)
	want(14, "trace_0300", "longer prefixes", f.olderLonger, 5)
	want(15, "trace_0300", "overlaps", f.overlaps, 3)
	want(15, "trace_0300", "resolution", t0300.ResolutionS, 1.0)
	_, f = at("trace_0326")
	want(13, "trace_0326", "requests with nothing shared", f.nothingShared > 0, true)
	t0403, f := at("trace_0403")
	want(24, "trace_0403", "assistant kinds in the input", f.assistantIn, 1)
	want(25, "trace_0403", "long gap", math.Round(f.longestGapS/3600*10), 135.0)
	t0427, _ := at("trace_0427")
	want(26, "trace_0427", "copies", t0403.ID != t0427.ID && len(allOf(t0403)) == len(allOf(t0427)), true)
	t0550, f := at("trace_0550")
	want(16, "trace_0550", "model switches", f.modelSwitches, 2)
	want(16, "trace_0550", "main requests", f.main, 121)
	want(16, "trace_0550", "resolution", t0550.ResolutionS, 1.0)
	want(16, "trace_0550", "longer prefixes", f.olderLonger, 1)
	_, f = at("trace_0643")
	want(12, "trace_0643", "pull-backs", f.pullbacks, 9)
	want(13, "trace_0643", "requests with nothing shared", f.nothingShared, 5)
	want(14, "trace_0643", "longer prefixes", f.olderLonger, 3)

	oracle, err := os.Open(filepath.Join(tracetest.Folder(t), "oracle.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer oracle.Close()
	if _, err := NewReader(oracle, "oracle.json").Next(); !errors.Is(err, ErrNotTrace) {
		t.Errorf("trap 27: oracle.json: %v", err)
	}
	for name := range files {
		tr, f := at(strings.TrimSuffix(name, ".json"))
		want(10, name, "partial ids", f.partial, 0)
		want(22, name, "totals agree", tr.Totals != nil && tr.TotalsAgree(), true)
		if tr.ID+".json" != name {
			t.Errorf("%s has the id %s", name, tr.ID)
		}
	}
}

// The same traps by hand, so that they are tested without the sample.
func TestTraps(t *testing.T) {
	request := func(at int, fields string, ids ...int) string {
		return fmt.Sprintf(`{"t":%d,"type":"s","model":"m","in":%d,"out":5,"hash_ids":%s%s}`, at, 64*len(ids)+9, strings.Join(strings.Fields(fmt.Sprint(ids)), ","), fields)
	}
	sub := func(id string, fields, requests string) string {
		return `{"t":50,"type":"subagent","agent_id":"` + id + `","subagent_type":"Plan","status":"completed"` + fields + `,"requests":[` + requests + `]}`
	}
	for _, tt := range []struct {
		trap int
		name string
		json string
		want func(*Trace, figures) bool
	}{
		{1, "long line", with(request(0, "", slices.Repeat([]int{1}, 200_000)...)), func(tr *Trace, f figures) bool { return f.distinct == 200_000 }},
		{2, "type last", with(`{"hash_ids":[7],"agent_id":"no marker","out":2,"in":64,"model":"m","t":3,"type":"n"}`), func(tr *Trace, f figures) bool { return f.main == 1 && f.maxID == 7 }},
		{2, "marker's type last", with(good + `,{"requests":[` + request(0, "", 1) + `],"t":50,"agent_id":"a","type":"subagent"}`), func(tr *Trace, f figures) bool { return f.relative == 1 }},
		{2, "alias names", with(`{"t":0,"type":"n","model":"m","input_length":64,"output_length":3,"hash_ids":[7]}`), func(tr *Trace, f figures) bool { r := tr.Entries[0].Request; return r.In == 64 && r.Out == 3 }},
		{3, "no api_time", with(request(4, "", 1)), func(tr *Trace, f figures) bool {
			r := tr.Entries[0].Request
			return f.noAPITime == 1 && r.EndS() == 4 && notes(tr)[NoteAPITimeMissing] == 1
		}},
		{3, "null api_time", with(request(4, `,"api_time":null`, 1)), func(tr *Trace, f figures) bool { return f.noAPITime == 1 && notes(tr)[NoteNegative] == 0 }},
		{3, "negative api_time", with(request(4, `,"api_time":-1`, 1)), func(tr *Trace, f figures) bool { return f.noAPITime == 1 && notes(tr)[NoteNegative] == 1 }},
		{4, "no think_time", with(request(0, "", 1)), func(tr *Trace, f figures) bool { return f.noThink == 1 }},
		{5, "think_time reaching back", with(request(0, "", 1) + "," + request(9, `,"think_time":30`, 1)), func(tr *Trace, f figures) bool { return f.thinkReachesBack == 1 }},
		{6, "out 0", with(strings.Replace(good, `"out":5`, `"out":0`, 1)), func(tr *Trace, f figures) bool { return f.zeroOut == 1 && notes(tr)[NoteOutZero] == 1 }},
		{7, "no stop", with(request(0, `,"stop":"","output_types":[]`, 1)), func(tr *Trace, f figures) bool { return f.silent == 1 && tr.Entries[0].Request.Out == 5 }},
		{8, "ids with gaps", with(request(0, "", 1, 2_000_000_000)), func(tr *Trace, f figures) bool { return f.distinct == 2 && f.maxID == 2_000_000_000 }},
		{9, "ids out of order", with(request(0, "", 5) + "," + request(1, "", 3)), func(tr *Trace, f figures) bool { return f.unordered }},
		{10, "no id for the partial block", with(request(0, "", 1, 2)), func(tr *Trace, f figures) bool { return f.partial == 0 && tr.Entries[0].Request.Whole == 2 }},
		{10, "an id for the partial block", with(strings.Replace(good, "[1,2]", "[1,2,3]", 1)), func(tr *Trace, f figures) bool {
			r := tr.Entries[0].Request
			return f.partial == 1 && r.Whole == 2 && r.Path.Len == 3 && notes(tr)[NotePartialID] == 1
		}},
		{10, "no ids at all", with(strings.Replace(good, "[1,2]", "[]", 1)), func(tr *Trace, f figures) bool {
			return tr.Entries[0].Request.Whole == 0 && notes(tr)[NoteHashless] == 1
		}},
		{12, "shrinking context", with(request(0, "", 1, 2, 3) + "," + request(1, "", 1)), func(tr *Trace, f figures) bool { return f.pullbacks == 1 && f.distinct == 3 }},
		{13, "nothing shared", with(request(0, "", 1, 2) + "," + request(1, "", 3, 4)), func(tr *Trace, f figures) bool { return f.nothingShared == 1 }},
		{14, "back to an older request", with(request(0, "", 1, 2) + "," + request(1, "", 3) + "," + request(2, "", 1, 2, 4)), func(tr *Trace, f figures) bool { return f.olderLonger == 1 && f.distinct == 4 }},
		{15, "overlapping main requests", with(request(0, `,"api_time":9`, 1) + "," + request(1, "", 1, 2)), func(tr *Trace, f figures) bool { return f.overlaps == 1 }},
		{16, "another model", with(request(0, "", 1) + "," + strings.Replace(request(1, "", 1), `"m"`, `"k"`, 1)), func(tr *Trace, f figures) bool { return f.modelSwitches == 1 }},
		{18, "null numbers", with(good + "," + sub("a", `,"duration_ms":null,"total_tokens":null,"tool_use_count":null`, request(0, `,"api_time":4`, 1))), func(tr *Trace, f figures) bool {
			return f.noDuration == 1 && tr.Entries[1].Subagent.EndS == 54 && notes(tr)[NoteDurationMissing] == 1
		}},
		{19, "total_tokens 0", with(good + "," + sub("a", `,"duration_ms":1000,"total_tokens":0`, request(0, "", 1))), func(tr *Trace, f figures) bool { return f.subagents == 1 && notes(tr)[NoteUnknownKey] == 0 }},
		{20, "a subagent last", with(good + "," + sub("a", `,"duration_ms":1000`, request(0, "", 1)) + "," + sub("b", "", "")), func(tr *Trace, f figures) bool { return f.subagents == 2 && notes(tr)[NoteEmptySubagent] == 1 }},
		{21, "background", with(good + "," + strings.Replace(sub("a", "", request(0, "", 1)), "completed", "async_launched", 1)), func(tr *Trace, f figures) bool { return f.background == 1 && notes(tr)[NoteDurationMissing] == 0 }},
		{22, "an unlisted model", strings.Replace(with(good), `"block_size"`, `"models":["k"],"block_size"`, 1), func(tr *Trace, f figures) bool { return f.unlisted }},
		{22, "no list of models", with(good), func(tr *Trace, f figures) bool { return !f.unlisted }},
		{23, "a huge context", with(strings.Replace(good, `"in":130,"out":5,"hash_ids":[1,2]`, `"in":894371,"out":5`, 1)), func(tr *Trace, f figures) bool { return f.over200k == 1 }},
		{25, "a gap of days", with(request(0, "", 1) + "," + request(300_000, "", 1)), func(tr *Trace, f figures) bool { return f.longestGapS == 300_000 }},
		{0, "an unknown key", with(strings.Replace(good, `"t"`, `"extra":{"a":[1,{"b":null}]},"t"`, 1)), func(tr *Trace, f figures) bool {
			return notes(tr)[NoteUnknownKey] == 1 && tr.Notes[0].Where == "requests[0].extra"
		}},
		{0, "wrong totals", strings.Replace(with(good), `"block_size"`, `"totals":{"subagent_count":3},"block_size"`, 1), func(tr *Trace, f figures) bool { return !tr.TotalsAgree() && notes(tr)[NoteTotals] == 1 }},
		{0, "fractional times", with(strings.Replace(good, `"t":0`, `"t":0.25`, 1)), func(tr *Trace, f figures) bool { return tr.ResolutionS == 1e-6 }},
		{0, "fractional times inside a subagent only", with(good + "," + sub("a", `,"duration_ms":1500`, request(0, "", 1))), func(tr *Trace, f figures) bool { return tr.ResolutionS == 1 && tr.Entries[1].Subagent.StartS == 48.5 }},
	} {
		tr := read(t, tt.json)
		if f := figuresOf(tr); !tt.want(tr, f) {
			t.Errorf("trap %d, %s: %+v, notes %+v", tt.trap, tt.name, f, tr.Notes)
		}
		readsBack(t, tr)
	}
}

// Trap 11: ids mean something only inside their trace.
func TestTrapLocalIDs(t *testing.T) {
	d := NewReader(strings.NewReader(with(good)+"\n"+with(good)), "f.jsonl")
	for range 2 {
		tr, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h := tr.Hits()[tr.Entries[0].Request]; h != (Hit{}) {
			t.Errorf("hits %+v", h)
		}
	}
	if _, err := d.Next(); err != io.EOF {
		t.Error(err)
	}
}
