// Package github tells GitHub what a run measured and what changed: in one comment on
// the pull request for each workflow and cell, in the job summary, as annotations, and
// as a check run where one is asked for.
//
// In go the documents of a run (Content) and where to tell it (Options); out comes what
// became of it (Outcome). Everything in the content may have been written by others:
// names, error texts and branch names are shown as plain text, never as markup, links
// or mentions, and without the token and what Options.Mask takes out. Where a result goes is decided by GitHub's own payload (Event) and never
// by an artifact.
//
// The comment is found again by a marker in its first line and by its author, over all
// pages. It is updated in place, left alone when nothing changed, and made anew only
// when the verdict got worse, for then somebody should be told. A body that is too long
// is shed section by section, in a fixed order.
//
// Refused is whatever GitHub will not take within the budget of time: it is a typed
// error that says what to do, the job summary has the text, and no result is lost.
// Rate limits are waited for where the budget allows (go-github's own means).
//
// The rules are decisions.md 31 and 32, spec/pitfalls.md "Comment and permissions" and
// issue 5. Token and proxy are explicit values; nothing is read from the environment.
package github
