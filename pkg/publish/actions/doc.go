// Package actions talks to GitHub's Actions runner: inputs, outputs, state, masks,
// groups, annotations, the job summary and the job's OIDC token.
//
// In goes the environment that the runner gives a step; out go workflow commands on
// standard output and lines in the files named by GITHUB_OUTPUT, GITHUB_ENV,
// GITHUB_STATE, GITHUB_PATH and GITHUB_STEP_SUMMARY. The wire rules are GitHub's
// documented ones ("Workflow commands for GitHub Actions"): data and properties of a
// command are percent-encoded, and a value in a file stands between two lines of a
// random delimiter that does not occur in it.
//
// Names and signatures are those of github.com/sethvargo/go-githubactions, which the
// Go proxy of our builds refuses (spec/ecosystem.md §1.1). Where it can be had, the
// exchange is one import line. What that module does not have stands apart: package
// untrusted, for output that comes from others.
//
// It refuses names that can't be written to a file command, with an error annotation.
// A file that can't be written is one too: a step must not lose its result to it. A
// summary beyond GitHub's 1 MiB is cut at a line end and says so; annotations beyond
// GitHub's ten of a type in a step become plain lines, where GitHub would drop them.
package actions
