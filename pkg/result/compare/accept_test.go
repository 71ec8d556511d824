package compare

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result"
)

func identity(pairs ...string) result.Identity {
	values := map[string]string{"corpus": "c", "seed": "1", "engine": "vllm", "engine_version": "1", "gpu_driver": "570"}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
		if pairs[i+1] == "" {
			delete(values, pairs[i])
		}
	}
	return result.NewIdentity(values)
}

func candidate(id string, pairs ...string) Candidate {
	return Candidate{RunID: id, Mode: result.ModeAgentic, OK: 1, Trusted: true, Identity: identity(pairs...)}
}

func TestAccept(t *testing.T) {
	yes, no := true, false
	head := Wanted{RunIDs: []string{"h1", "h2"}, Identity: identity(), MayDiffer: DefaultAxis}
	for name, c := range map[string]struct {
		change func(c *Candidate, w *Wanted)
		taken  []Candidate
		want   Rejection
	}{
		"a repeat":                  {},
		"another value of the axis": {change: func(c *Candidate, _ *Wanted) { c.Identity = identity("engine_version", "0") }},
		"valid by a rule set":       {change: func(c *Candidate, _ *Wanted) { c.Valid = &yes }},
		"fixed-length":              {change: func(c *Candidate, _ *Wanted) { c.Mode = result.ModeFixed }, want: Rejection{Reason: NotAgentic}},
		"the head's second run":     {change: func(c *Candidate, _ *Wanted) { c.RunID = "h2" }, want: Rejection{Reason: IsHead}},
		"not valid":                 {change: func(c *Candidate, _ *Wanted) { c.Valid = &no }, want: Rejection{Reason: NotValid}},
		"not trusted":               {change: func(c *Candidate, _ *Wanted) { c.Trusted = false }, want: Rejection{Reason: NotTrusted}},
		"cancelled":                 {change: func(c *Candidate, _ *Wanted) { c.Failed = true }, want: Rejection{Reason: Failed}},
		"all failed":                {change: func(c *Candidate, _ *Wanted) { c.OK, c.Trusted = 0, false }, want: Rejection{Reason: NothingOK}},
		"another seed":              {change: func(c *Candidate, _ *Wanted) { c.Identity = identity("seed", "2") }, want: Rejection{UnlikeHead, "seed"}},
		"a key that the head lacks": {change: func(c *Candidate, _ *Wanted) { c.Identity = identity("marker", "x") }, want: Rejection{UnlikeHead, "marker"}},
		"an allowed key":            {change: func(c *Candidate, w *Wanted) { c.Identity, w.MayDiffer = identity("seed", "2"), []string{"seed"} }},
		"another axis": {change: func(c *Candidate, w *Wanted) {
			c.Identity, w.MayDiffer = identity("engine_version", "2"), []string{"seed"}
		}, want: Rejection{UnlikeHead, "engine_version"}},
		"beside a repeat":           {taken: []Candidate{candidate("a")}},
		"a copy":                    {taken: []Candidate{candidate("b"), candidate("x")}, want: Rejection{Reason: IsTaken}},
		"no repeat though on axis":  {taken: []Candidate{candidate("a", "engine_version", "2")}, want: Rejection{UnlikeTaken, "engine_version"}},
		"unknown before the run":    {change: func(_ *Candidate, w *Wanted) { w.Ahead, w.Identity = true, identity("engine", "", "gpu_driver", "") }},
		"unknown after the run":     {change: func(_ *Candidate, w *Wanted) { w.Identity = identity("gpu_driver", "") }, want: Rejection{UnlikeHead, "gpu_driver"}},
		"known before the run":      {change: func(_ *Candidate, w *Wanted) { w.Ahead, w.Identity = true, identity("engine", "sglang") }, want: Rejection{UnlikeHead, "engine"}},
		"settled to nothing":        {change: func(_ *Candidate, w *Wanted) { w.Ahead, w.Identity = true, identity("seed", "") }, want: Rejection{UnlikeHead, "seed"}},
		"a key the taken one lacks": {change: func(c *Candidate, _ *Wanted) { c.Identity = identity("engine_image", "i") }, taken: []Candidate{candidate("a")}, want: Rejection{UnlikeTaken, "engine_image"}},
	} {
		x, w := candidate("x"), head
		if c.change != nil {
			c.change(&x, &w)
		}
		if got := Accept(&x, &w, c.taken); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The candidate of a result has what the rule looks at.
func TestCandidateOf(t *testing.T) {
	d := synthetic{run: 7}.make().Doc
	d.Outcome.Error = "disk full"
	c := CandidateOf(d)
	if c.RunID != "run-7" || c.OK != 400 || !c.Trusted || !c.Failed || c.Mode != result.ModeAgentic || c.Identity.Digest != d.Identity.Digest {
		t.Errorf("%+v", c)
	}
}

// A nightly window over engine versions: the newest accepted run decides, what is
// no repeat of it is skipped, and it is said.
func TestWindowOverVersions(t *testing.T) {
	var stored []Stored
	add := func(day int, where string, c Candidate) {
		c.StartedAt = time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
		stored = append(stored, Stored{where, c})
	}
	bad := candidate("bad", "engine_version", "3")
	bad.Trusted = false
	add(1, "v1", candidate("v1"))
	add(2, "v2-a", candidate("v2-a", "engine_version", "2"))
	add(3, "v2-b", candidate("v2-b", "engine_version", "2"))
	add(3, "v2-copy", candidate("v2-b", "engine_version", "2"))
	add(4, "v1-again", candidate("v1-again"))
	add(5, "v2-c", candidate("v2-c", "engine_version", "2"))
	add(6, "broken", candidate("broken", "engine_version", "3"))
	add(7, "seed", candidate("seed", "seed", "2"))
	add(8, "bad", bad)
	add(9, "head", candidate("head", "engine_version", "4"))
	w := Wanted{RunIDs: []string{"head"}, Identity: identity("engine_version", "4"), MayDiffer: DefaultAxis}
	var opened []string
	open := func(where string) error {
		opened = append(opened, where)
		if where == "broken" {
			return &FolderError{where, NotWhole, errors.New("x")}
		}
		return nil
	}
	window := func(most int, taken ...Candidate) (names []string, said string) {
		in, down := Window(stored, &w, taken, most, open)
		for _, s := range in {
			names = append(names, s.Where)
		}
		return names, strings.Join(Sentences(down), "\n")
	}
	names, said := window(5)
	if diff := cmp.Diff([]string{"v2-c", "v2-b", "v2-a"}, names); diff != "" {
		t.Error(diff)
	}
	want := `2 runs turned down: no repeat of the first run taken: differs in engine_version (v1-again, v1)
1 run turned down: the head itself (head)
1 run turned down: not trusted (bad)
1 run turned down: differs from the head in seed (seed)
1 run turned down: not as the run left it (broken)
1 run turned down: the same run as one taken (v2-copy)`
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	// Nothing is opened in vain.
	if diff := cmp.Diff([]string{"broken", "v2-c", "v2-b", "v2-a"}, opened); diff != "" {
		t.Error(diff)
	}
	if names, said := window(1); len(names) != 1 || strings.Contains(said, "v1") {
		t.Errorf("%v\n%s", names, said)
	}
	// A run that was named decides what a repeat is.
	if names, _ := window(5, candidate("named")); !cmp.Equal(names, []string{"v1-again", "v1"}) {
		t.Error(names)
	}
	if stored[0].Where != "v1" {
		t.Error("the list given was sorted")
	}
}

func TestSentencesNameFew(t *testing.T) {
	var down []TurnedDown
	for i := range 4 {
		down = append(down, TurnedDown{fmt.Sprint("r", i), Rejection{Reason: NotTrusted}})
	}
	if got := Sentences(down); !cmp.Equal(got, []string{"4 runs turned down: not trusted"}) {
		t.Error(got)
	}
	if got := Sentences([]TurnedDown{{"a\x1b[2J", Rejection{UnlikeHead, "k\n"}}}); !cmp.Equal(got, []string{"1 run turned down: differs from the head in k? (a?[2J)"}) {
		t.Errorf("%q", got)
	}
	if got := Sentences(nil); got != nil {
		t.Error(got)
	}
}
