// Package githubtest is GitHub's REST API for tests, as far as publishing needs it and
// as GitHub documents it: comments on issues with their pages, the user of the token,
// pull requests, check runs, rate limits, and failures on demand. It keeps state, and
// every request that it received.
//
// It is our own reading of the documentation; a test replays its requests to GitHub's
// own description of the API (spec/ecosystem.md §5).
package githubtest
