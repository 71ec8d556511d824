package github

import (
	"context"
	"errors"
)

// Publish tells GitHub what there is to tell: job summary, annotations, the pull
// request's comment, a check run. The error joins everything that was refused, each a
// *Refused; the outcome is right in any case.
func Publish(ctx context.Context, o Options, c Content) (Outcome, error) {
	return Outcome{}, errors.New("github: not there yet")
}

// Planned is what Publish would do.
type Planned struct {
	Standing    Standing
	PullRequest int // 0: there is none, or it has to be asked for
	Marker      string
	Body        string // the comment, marker first
	Shed        []string
	Summary     string
	Annotations []Annotation
	Steps       []string // in words, in their order
}

// Annotation is a line at the job, without a file.
type Annotation struct {
	Kind string // error, warning or notice
	Text string
}

// Plan is what Publish would do, found without a network.
func Plan(o Options, c Content) (Planned, error) {
	return Planned{}, errors.New("github: not there yet")
}
