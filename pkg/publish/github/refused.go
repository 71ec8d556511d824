package github

import "strings"

// Refused is something that GitHub would not take. The result is safe: it is in the
// artifacts, and the job summary has the text. The program ends with exit code 5.
type Refused struct {
	What string // "comment", "check run"
	Why  string // in GitHub's words, made harmless
	ToDo string
	// Status of the answer; 0 when there was none.
	Status int
	Err    error
}

func (r *Refused) Error() string {
	return strings.TrimRight("github: "+r.What+" refused: "+r.Why+"; "+r.ToDo, "; ")
}

// Unwrap gives the cause.
func (r *Refused) Unwrap() error { return r.Err }
