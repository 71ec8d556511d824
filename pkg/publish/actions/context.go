package actions

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// GitHubContext is what the runner says of the job, by the names of its environment.
type GitHubContext struct {
	Action, ActionPath, ActionRepository string
	Actions                              bool
	Actor, APIURL, BaseRef, Env          string
	EventName, EventPath, GraphqlURL     string
	HeadRef, Job, Path, Ref, RefName     string
	RefProtected                         bool
	RefType, Repository, RepositoryOwner string
	RetentionDays                        int64
	RunAttempt, RunID, RunNumber         int64
	ServerURL, SHA, StepSummary          string
	Workflow, Workspace                  string

	// Event is the payload that triggered the workflow.
	Event map[string]any
}

// maxEvent bounds a payload; GitHub's own limit for webhooks is 25 MB.
const maxEvent = 25 << 20

// Context reads the environment and the event's payload. Outside Actions it is empty
// but for GitHub's public addresses.
func (a *Action) Context() (*GitHubContext, error) {
	get := a.getenv
	c := &GitHubContext{
		Action: get("GITHUB_ACTION"), ActionPath: get("GITHUB_ACTION_PATH"), ActionRepository: get("GITHUB_ACTION_REPOSITORY"),
		Actor: get("GITHUB_ACTOR"), APIURL: cmp.Or(get("GITHUB_API_URL"), "https://api.github.com"),
		BaseRef: get("GITHUB_BASE_REF"), Env: get("GITHUB_ENV"), EventName: get("GITHUB_EVENT_NAME"), EventPath: get("GITHUB_EVENT_PATH"),
		GraphqlURL: cmp.Or(get("GITHUB_GRAPHQL_URL"), "https://api.github.com/graphql"), HeadRef: get("GITHUB_HEAD_REF"),
		Job: get("GITHUB_JOB"), Path: get("GITHUB_PATH"), Ref: get("GITHUB_REF"), RefName: get("GITHUB_REF_NAME"),
		RefType: get("GITHUB_REF_TYPE"), Repository: get("GITHUB_REPOSITORY"), RepositoryOwner: get("GITHUB_REPOSITORY_OWNER"),
		ServerURL: cmp.Or(get("GITHUB_SERVER_URL"), "https://github.com"), SHA: get("GITHUB_SHA"), StepSummary: get("GITHUB_STEP_SUMMARY"),
		Workflow: get("GITHUB_WORKFLOW"), Workspace: get("GITHUB_WORKSPACE"),
	}
	for name, into := range map[string]*bool{"GITHUB_ACTIONS": &c.Actions, "GITHUB_REF_PROTECTED": &c.RefProtected} {
		v, err := strconv.ParseBool(cmp.Or(get(name), "false"))
		if err != nil {
			return nil, fmt.Errorf("actions: %s is %q, not true or false", name, get(name))
		}
		*into = v
	}
	for name, into := range map[string]*int64{
		"GITHUB_RETENTION_DAYS": &c.RetentionDays, "GITHUB_RUN_ATTEMPT": &c.RunAttempt, "GITHUB_RUN_ID": &c.RunID, "GITHUB_RUN_NUMBER": &c.RunNumber,
	} {
		v, err := strconv.ParseInt(cmp.Or(get(name), "0"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("actions: %s is %q, not a number", name, get(name))
		}
		*into = v
	}
	if c.EventPath == "" {
		return c, nil
	}
	data, err := readEvent(c.EventPath)
	if err != nil {
		return nil, err
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &c.Event); err != nil {
			return nil, fmt.Errorf("actions: %s (GITHUB_EVENT_PATH): %w", c.EventPath, err)
		}
	}
	return c, nil
}

// readEvent reads a payload of bounded size. One that isn't there is none.
func readEvent(path string) ([]byte, error) {
	f, err := os.Open(path) // #nosec G304 -- the runner's own file
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("actions: GITHUB_EVENT_PATH: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEvent+1))
	if err != nil {
		return nil, fmt.Errorf("actions: GITHUB_EVENT_PATH: %w", err)
	}
	if len(data) > maxEvent {
		return nil, fmt.Errorf("actions: %s (GITHUB_EVENT_PATH) is larger than %d MiB", path, maxEvent>>20)
	}
	return data, nil
}

// Repo is the owner and the name of the repository.
func (c *GitHubContext) Repo() (string, string) {
	owner, name, _ := strings.Cut(c.Repository, "/")
	return owner, name
}
