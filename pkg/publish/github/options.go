package github

import (
	"net/http"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// Comments says what becomes of the pull request's comment.
type Comments string

// What can become of it.
const (
	CommentSticky Comments = ""       // one comment, updated in place; a new one when the verdict gets worse
	CommentUpdate Comments = "update" // one comment, updated in place whatever happens
	CommentOff    Comments = "off"
)

// Options says where and how to publish. The zero value writes nothing anywhere.
type Options struct {
	// Token of GitHub's API; a secret. Empty: nothing is sent.
	Token string
	// Mask takes further secrets out of a text, before it is shown anywhere; nil: there
	// are none.
	Mask func(text string) string
	// APIURL, GraphQLURL and ServerURL are as in GITHUB_API_URL, GITHUB_GRAPHQL_URL
	// and GITHUB_SERVER_URL; empty means github.com's.
	APIURL, GraphQLURL, ServerURL string
	// Proxy of the requests; the zero value is none. httpproxy.FromEnvironment()
	// takes the usual variables.
	Proxy httpproxy.Config
	// Transport of the requests instead of one that goes through Proxy.
	Transport http.RoundTripper
	// Budget of time for all requests together, waits for rate limits included; 0 is
	// 2 minutes.
	Budget time.Duration

	// Repository is owner/name, where the comment goes.
	Repository string
	// Workflow and Cell tell this comment from others of the same pull request: one
	// comment each.
	Workflow, Cell string
	// Run and Attempt are GitHub's numbers of the run that measured; 0 where there is
	// none. An older run's result never takes the place of a newer one's.
	Run, Attempt int64
	// Login whose comments are ours; empty: whom the token belongs to.
	Login string
	// Event decides which pull request and commit the result is of.
	Event Event
	// PullRequest by number, instead of the event's.
	PullRequest int

	Comments Comments
	// CheckRun is the name of a check run to make; empty makes none.
	CheckRun string
	// Actions gets job summary, annotations and log lines; nil: nobody does.
	Actions *actions.Action

	// moved is the commit that the pull request has by now; empty where it is the
	// event's, or nobody was asked.
	moved string
}

// Content is what there is to tell. Everything in it may come from others.
type Content struct {
	// Head is the agentic run's result; nil when there is none.
	Head *result.Document
	// Comparison with the base; nil when nothing was compared.
	Comparison *compare.Comparison
	// AgainstFixed is for a head without a comparison, which has its own.
	AgainstFixed []compare.AgainstFixed
	// NotCompared says why there is no comparison, e.g. "no run of main is stored".
	NotCompared string
	// Failed says why there is no result, e.g. what the engine died of.
	Failed string
	// Claimed: the artifacts came from a job whose code others wrote. What was computed
	// from them stands; what they say of themselves is their word.
	Claimed bool
	// Provenance of the result.
	Provenance Provenance
}

// Provenance is where a result comes from, as far as its document doesn't say. What is
// empty there is taken from the document.
type Provenance struct {
	SHA string // commit measured
	// BaseSHA is the commit that it was held against, or several of them; empty where it
	// is not known. BaseClaimed: only the artifacts say so.
	BaseSHA     string
	BaseClaimed bool
	Image       string // engine's image by digest
	Runner      string // of the job
	RunURL      string // of the job that measured, by GitHub's own word
	// SummaryURL is where the job's summary can be read; empty means at RunURL.
	SummaryURL string
	// ResultURL is where the artifacts lie.
	ResultURL string
	// Reproduce is the command line that measures the same on one's own machine.
	Reproduce []string
}

// Change is what became of a comment.
type Change string

// What became of it.
const (
	Created   Change = "created"
	Updated   Change = "updated"
	Unchanged Change = "unchanged"
	Escalated Change = "escalated" // a new comment, since the verdict got worse
	Kept      Change = "kept"      // a newer run's result stands there, and stays
	Skipped   Change = "skipped"   // there is no pull request, or comments are off
	NotSent   Change = "refused"
)

// Outcome is what was published.
type Outcome struct {
	Standing    Standing
	PullRequest int // 0: there is none
	Comment     Change
	CommentURL  string
	CheckRunURL string
	// Shed are the sections that the comment had no room for.
	Shed []string
	// Duplicates of our comment that were removed.
	Duplicates int
	// Refused is everything that GitHub would not take.
	Refused []*Refused
}
