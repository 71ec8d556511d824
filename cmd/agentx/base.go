package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/run"
)

// base is what a run that is still to come will be compared with. Everything that
// can be known beforehand is checked before the run begins: hours on GPUs are not
// to end in a comparison that is refused.
type base struct {
	dirs    []string
	floor   string // its file
	options compare.Options
	from    *shelf

	checked map[string]checked // by folder
	none    string             // why there is no base, which nobody had asked for
}

// isNone takes a base away that nobody named: the first run of a branch has none.
func (b *base) isNone(notes io.Writer, why error) {
	b.none = strings.TrimPrefix(strings.TrimPrefix(why.Error(), "nothing was run: "), "--compare-with: ")
	fmt.Fprintln(notes, "note: not compared:", b.none)
}

type checked struct {
	doc *result.Document
	err error
}

// newBase reads what was named. out is the folder that the run will write into.
func newBase(dirs []string, floor, out string, from *shelf) (*base, error) {
	o, err := withFloor(floor)
	if err != nil {
		return nil, &run.UsageError{Err: fmt.Errorf("--floor %s: %w", floor, err)}
	}
	b := &base{dirs: dirs, floor: floor, options: o, from: from, checked: map[string]checked{}}
	target, targetErr := os.Stat(out)
	for _, name := range dirs {
		if series, err := from.isSeries(name); series {
			continue // as a folder of runs, below
		} else if err != nil {
			return nil, &run.UsageError{Err: fmt.Errorf("--compare-with: %w", err)}
		}
		dir, err := from.folder(name)
		if err != nil {
			return nil, fmt.Errorf("--compare-with: %w", err)
		}
		info, err := os.Stat(dir)
		switch {
		case err == nil && targetErr == nil && os.SameFile(info, target):
			return nil, &run.UsageError{Err: fmt.Errorf("--compare-with %s: the run is to be written there; give --output-artifact-dir another folder", dir)}
		case err == nil && info.IsDir() && !compare.HoldsRun(dir):
			continue // a folder of runs: looked through when the head's identity is known
		}
		if _, err := b.check(dir); err != nil {
			return nil, &run.UsageError{Err: fmt.Errorf("--compare-with: %w", err)}
		}
	}
	return b, nil
}

// check looks through a run's folder once.
func (b *base) check(dir string) (*result.Document, error) {
	c, done := b.checked[dir]
	if !done {
		c.doc, c.err = compare.Check(dir)
		b.checked[dir] = c
	}
	return c.doc, c.err
}

// fits refuses a base and a floor that a head of that identity could not be
// compared with. Keys that only the engine knows are passed over while they are
// missing.
func (b *base) fits(known *result.Identity) error {
	w := &compare.Wanted{Identity: *known, Ahead: true, MayDiffer: b.options.MayDiffer()}
	refuse := func(format string, args ...any) error {
		return &run.UsageError{Err: fmt.Errorf("nothing was run: "+format, args...)}
	}
	if f := b.options.Floor; f != nil {
		if keys := w.Differs(&f.Identity); len(keys) > 0 {
			return refuse("the noise floor %s is of something else: %s", b.floor, differences(keys, &f.Identity, known))
		}
	}
	taken, _, err := chooseBase(b.dirs, w, b.from, b.check)
	if err != nil {
		return refuse("--compare-with: %w", err)
	}
	for i, t := range taken {
		switch {
		case t.Mode != result.ModeAgentic:
			return refuse("--compare-with %s: it is a run of the fixed-length baseline; give a replay", t.Where)
		case t.OK == 0:
			return refuse("--compare-with %s: no request of it succeeded, so there is nothing to compare with", t.Where)
		case slices.ContainsFunc(taken[:i], func(o compare.Stored) bool { return o.RunID == t.RunID }):
			return refuse("--compare-with %s: the run %s is given twice; a run is no repeat of itself", t.Where, t.RunID)
		}
		if keys := w.Differs(&t.Identity); len(keys) > 0 {
			return refuse("--compare-with %s: the comparison would be refused: %s; give another run, or compare afterwards with agentx compare and --axis or --allow-mismatch %s", t.Where, differences(keys, &t.Identity, known), keys[0])
		}
		if keys := taken[0].Identity.Diff(&t.Identity); len(keys) > 0 {
			return refuse("--compare-with %s: it is no repeat of %s: %s", t.Where, taken[0].Where, differences(keys, &t.Identity, &taken[0].Identity))
		}
	}
	return nil
}

// Bounds of what an error says of two identities: keys, and runes of a value, of
// which so many may be the same on both sides.
const (
	maxDifferences = 3
	maxValue       = 60
	maxSame        = 20
)

// differences names the keys on which two identities differ, with both values.
func differences(keys []string, there, here *result.Identity) string {
	var parts []string
	for _, k := range keys[:min(len(keys), maxDifferences)] {
		a, b := words(there, k), words(here, k)
		same := 0
		for same < min(len(a), len(b)) && a[same] == b[same] {
			same++
		}
		parts = append(parts, fmt.Sprintf("%s is %s there and %s here", k, excerpt(a, same), excerpt(b, same)))
	}
	if more := len(keys) - maxDifferences; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more keys differ", more))
	}
	// Keys and values come from files; nothing of them may steer a terminal.
	return compare.Printable(strings.Join(parts, ", "))
}

func words(id *result.Identity, key string) []rune {
	v, ok := id.Get(key)
	if !ok {
		return []rune("unknown")
	}
	return []rune(v)
}

// excerpt is the part of a long value where it differs from another.
func excerpt(v []rune, same int) string {
	if len(v) <= maxValue {
		return string(v)
	}
	from := max(0, min(same-maxSame, len(v)-maxValue))
	out := string(v[from:min(len(v), from+maxValue)])
	if from > 0 {
		out = "…" + out
	}
	if from+maxValue < len(v) {
		out += "…"
	}
	return out
}

// compare compares the finished run in a folder with the base, shows what changed
// and writes it beside the result. It returns the folder of the base's first run too.
func (b *base) compare(out io.Writer, dir string) (*compare.Comparison, string, error) {
	head, err := compare.Load(dir)
	if err != nil {
		return nil, "", err
	}
	s := sides{head: []*compare.Run{head}}
	if err := s.chooseBase(b.dirs, &b.options, b.from); err != nil {
		return nil, "", err
	}
	if err := s.fixed(nil, nil, &b.options); err != nil {
		return nil, "", err
	}
	fmt.Fprintln(out)
	comparison, err := s.compare(out, b.options, "")
	return comparison, s.base[0].Where, err
}

// notCompared says of a comparison that failed or was refused what became of the
// run itself.
func notCompared(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("nothing could be compared; the run's own result stands as it is: %w", err)
}

// compared is what a comparison after a run means for the exit code.
func compared(c *compare.Comparison, failOnRegression bool) error {
	err := outcome(c, failOnRegression)
	if c.Verdict == compare.Refused {
		return notCompared(err)
	}
	return err
}
