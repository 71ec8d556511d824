package github

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
)

// Event is what triggered the workflow, as far as it decides where a result goes. It is
// read from what GitHub itself wrote, never from an artifact.
type Event struct {
	Name string // pull_request, push, …
	// PullRequest by number; 0 when the payload has none.
	PullRequest int
	// HeadSHA is the commit that the event is about.
	HeadSHA string
	// Fork: the commit comes from another repository.
	Fork bool
	// Trusted: a push, schedule or dispatch on the default branch. Only of such a run
	// may become a baseline (spec/pitfalls.md, "Comment and permissions").
	Trusted bool
	// HeadOwner and HeadBranch say where the head of a workflow_run lies, to find its
	// pull request by; empty for other events.
	HeadOwner, HeadBranch string
	// Find: a workflow_run of a pull request whose number the payload doesn't have,
	// as always with forks.
	Find bool
	// Measured is the run that a workflow_run tells of, which did the work; zero for
	// other events, where that is the job's own.
	Measured Measured
}

// Measured is a workflow run by what GitHub says of it.
type Measured struct {
	ID, Attempt int64
	URL         string // of its page
	Workflow    string // the workflow's name, as its jobs have it in GITHUB_WORKFLOW
}

// maxPayload bounds a payload; GitHub's own limit is 25 MB.
const maxPayload = 25 << 20

// ReadEvent reads the payload at path (GITHUB_EVENT_PATH) of the event called name
// (GITHUB_EVENT_NAME), in the repository (GITHUB_REPOSITORY) at ref and sha
// (GITHUB_REF, GITHUB_SHA). Without a path there is only what those say.
func ReadEvent(name, path, repository, ref, sha string) (Event, error) {
	e := Event{Name: name, HeadSHA: sha}
	if path == "" {
		return e, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return e, fmt.Errorf("github: event payload: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPayload+1))
	if err != nil {
		return e, fmt.Errorf("github: event payload: %w", err)
	}
	if len(data) > maxPayload {
		return e, fmt.Errorf("github: event payload %s is larger than %d MiB", path, maxPayload>>20)
	}
	e, err = ParseEvent(name, data, repository, ref, sha)
	if err != nil {
		return e, fmt.Errorf("github: event payload %s: %w", path, err)
	}
	return e, nil
}

// payload is what is read of GitHub's payloads.
type payload struct {
	Repository struct {
		FullName      string `json:"full_name"`
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
	PullRequest *pullRequest `json:"pull_request"`
	Issue       *struct {
		Number      int       `json:"number"`
		PullRequest *struct{} `json:"pull_request"`
	} `json:"issue"`
	Workflow    any `json:"workflow"` // an object; of a schedule or a dispatch a path
	WorkflowRun *struct {
		ID             int64         `json:"id"`
		Attempt        int64         `json:"run_attempt"`
		URL            string        `json:"html_url"`
		Name           string        `json:"name"`
		Event          string        `json:"event"`
		HeadSHA        string        `json:"head_sha"`
		HeadBranch     string        `json:"head_branch"`
		HeadRepository *repo         `json:"head_repository"`
		PullRequests   []pullRequest `json:"pull_requests"`
	} `json:"workflow_run"`
}

type pullRequest struct {
	Number int `json:"number"`
	Head   struct {
		SHA  string `json:"sha"`
		Repo *repo  `json:"repo"`
	} `json:"head"`
	Base struct {
		Repo *repo `json:"repo"`
	} `json:"base"`
}

type repo struct {
	FullName string `json:"full_name"`
	URL      string `json:"url"`
	Owner    struct {
		Login string `json:"login"`
	} `json:"owner"`
}

// is tells whether a repository is the named one. The short form in a workflow_run's
// list has only the address.
func (r *repo) is(name string) bool {
	if r == nil {
		return false
	}
	return strings.EqualFold(r.FullName, name) || strings.HasSuffix(strings.ToLower(r.URL), "/repos/"+strings.ToLower(name))
}

// ParseEvent is ReadEvent for a payload in memory.
func ParseEvent(name string, data []byte, repository, ref, sha string) (Event, error) {
	e := Event{Name: name, HeadSHA: sha}
	var p payload
	if len(data) > 0 {
		if err := json.Unmarshal(data, &p); err != nil {
			return e, err
		}
	}
	if repository == "" {
		repository = p.Repository.FullName
	}
	switch {
	case name == "workflow_run" && p.WorkflowRun != nil:
		e.workflowRun(&p, repository)
	case p.PullRequest != nil: // pull_request, pull_request_target, pull_request_review, …
		e.PullRequest = p.PullRequest.Number
		if p.PullRequest.Head.SHA != "" { // GITHUB_SHA is the merge commit
			e.HeadSHA = p.PullRequest.Head.SHA
		}
		e.Fork = !p.PullRequest.Head.Repo.is(repository) // a deleted fork is one too
	case p.Issue != nil && p.Issue.PullRequest != nil: // a comment on it
		e.PullRequest = p.Issue.Number
		e.HeadSHA = "" // GITHUB_SHA is the default branch
	case name == "push" || name == "schedule" || name == "workflow_dispatch":
		branch := p.Repository.DefaultBranch
		e.Trusted = branch != "" && ref == "refs/heads/"+branch
	}
	return e, nil
}

func (p *payload) workflowName() string {
	workflow, _ := p.Workflow.(map[string]any)
	name, _ := workflow["name"].(string)
	return name
}

// workflowRun takes over what a finished workflow was about. The run itself happens on
// the default branch, with its rights, so nothing of it is trusted.
func (e *Event) workflowRun(p *payload, repository string) {
	run := p.WorkflowRun
	e.HeadSHA = run.HeadSHA
	e.Measured = Measured{ID: run.ID, Attempt: max(run.Attempt, 1), URL: run.URL, Workflow: p.workflowName()}
	if e.Measured.Workflow == "" {
		// Second, since GitHub has been seen to put the run's title here, which a pull
		// request's author writes.
		e.Measured.Workflow = run.Name
	}
	e.Fork = !run.HeadRepository.is(repository)
	if run.Event != "pull_request" && run.Event != "pull_request_target" {
		return
	}
	for _, pr := range run.PullRequests {
		// The list also names pull requests within the fork.
		if pr.Base.Repo.is(repository) && (pr.Head.SHA == "" || pr.Head.SHA == run.HeadSHA) {
			e.PullRequest = pr.Number
			return
		}
	}
	e.HeadBranch, e.Find = run.HeadBranch, true
	if run.HeadRepository != nil {
		e.HeadOwner = run.HeadRepository.Owner.Login
	}
}
