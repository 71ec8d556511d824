package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Stored is a candidate and where it lies: a folder, or a key in a store.
type Stored struct {
	Where string
	Candidate
}

// TurnedDown is a run that a window did not take.
type TurnedDown struct {
	Where string
	Rejection
}

// Window takes the newest runs that Accept accepts, at most so many, from the
// newest to the oldest. The first one taken decides what a repeat is, unless taken
// holds runs that do so already. open makes sure of a run, and may load it; one
// that it fails on is turned down. Runs older than the last one taken are not
// looked at once there are enough.
func Window(stored []Stored, w *Wanted, taken []Candidate, most int, open func(where string) error) (in []Stored, down []TurnedDown) {
	stored, taken = slices.Clone(stored), slices.Clone(taken)
	slices.SortFunc(stored, func(a, b Stored) int { return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.Where, b.Where)) })
	for i := range stored {
		if len(in) >= most {
			break
		}
		s := &stored[i]
		why := Accept(&s.Candidate, w, taken)
		if why.Reason == "" {
			why.Reason = whyNot(open(s.Where))
		}
		if why.Reason != "" {
			down = append(down, TurnedDown{s.Where, why})
			continue
		}
		in, taken = append(in, *s), append(taken, s.Candidate)
	}
	return in, down
}

func whyNot(err error) Reason {
	var folder *FolderError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &folder):
		return folder.Why
	}
	return NotWhole
}

// Printable takes out what could steer a terminal: names and keys come from files.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// maxNamed is up to how many runs turned down for one reason are named.
const maxNamed = 3

// Sentences says which runs were turned down and why, a sentence a reason, the
// most frequent first.
func Sentences(down []TurnedDown) (out []string) {
	where := map[Rejection][]string{}
	var reasons []Rejection
	for _, d := range down {
		if len(where[d.Rejection]) == 0 {
			reasons = append(reasons, d.Rejection)
		}
		where[d.Rejection] = append(where[d.Rejection], d.Where)
	}
	slices.SortStableFunc(reasons, func(a, b Rejection) int { return cmp.Compare(len(where[b]), len(where[a])) })
	for _, r := range reasons {
		text := "1 run"
		if n := len(where[r]); n > 1 {
			text = fmt.Sprintf("%d runs", n)
		}
		text += " turned down: " + r.String()
		if len(where[r]) <= maxNamed {
			text += " (" + strings.Join(where[r], ", ") + ")"
		}
		out = append(out, Printable(text))
	}
	return out
}
