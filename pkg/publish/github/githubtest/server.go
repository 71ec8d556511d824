package githubtest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Job is who comments with a job's own token.
const Job = "github-actions[bot]"

// Server is GitHub with one repository. The fields are set before the first request.
type Server struct {
	Repo   string // owner/name
	Prefix string // of all paths: /api/v3 for Enterprise
	Token  string // that is asked for; empty takes any
	Login  string // whom the token belongs to; Job by default
	// App: the token is of an app, as a job's is, and can't ask /user.
	App bool
	// MaxBody is how long a comment may be, in characters; 65536 by default.
	MaxBody int

	mu       sync.Mutex
	comments []Comment
	pulls    []Pull
	checks   []map[string]any
	requests []Request
	failures []*failure
	next     int64
}

// Comment on an issue or pull request.
type Comment struct {
	ID     int64
	Number int // of the pull request
	Login  string
	Body   string
}

// Pull is a pull request.
type Pull struct {
	Number                         int
	State                          string // open or closed
	HeadSHA, HeadOwner, HeadBranch string
}

// Request as it came.
type Request struct {
	Method, Path string // the path without prefix, with its query
	Header       http.Header
	Body         []byte
}

// Failure is an answer out of turn.
type Failure struct {
	Status int
	Header map[string]string
	Body   string        // JSON
	Delay  time.Duration // before it
	// Done: the request takes effect all the same, and only its answer is lost.
	Done bool
}

type failure struct {
	Failure
	match string
	times int
}

// New is a server of a repository, with a job's token.
func New(repo string) *Server {
	return &Server{Repo: repo, Login: Job, App: true, MaxBody: 65536, next: 1000}
}

// Fail makes the next requests fail whose method and path begin with match, e.g.
// "POST /repos/o/r/issues/"; as often as times says, for ever when that is negative.
func (s *Server) Fail(match string, times int, f Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, &failure{f, match, times})
}

// Forbidden, NotFound, Gone, Secondary, TooLong, Broken and Locked are answers as
// GitHub gives them.
var (
	Forbidden = Failure{Status: 403, Body: `{"message":"Resource not accessible by integration","documentation_url":"https://docs.github.com/rest/issues/comments#create-an-issue-comment"}`}
	NotFound  = Failure{Status: 404, Body: `{"message":"Not Found","documentation_url":"https://docs.github.com/rest"}`}
	Gone      = Failure{Status: 410, Body: `{"message":"Issues are disabled for this repo","documentation_url":"https://docs.github.com/v3/issues/"}`}
	Locked    = Failure{Status: 403, Body: `{"message":"Unable to create comment because issue is locked.","documentation_url":"https://docs.github.com/articles/locking-conversations/"}`}
	TooLong   = Failure{Status: 422, Body: `{"message":"Validation Failed","errors":[{"resource":"IssueComment","code":"unprocessable","field":"data","message":"Body is too long (maximum is 65536 characters)"}],"documentation_url":"https://docs.github.com/rest/issues/comments#create-an-issue-comment"}`}
	Spammed   = Failure{Status: 422, Body: `{"message":"Validation Failed","errors":[{"resource":"IssueComment","code":"custom","field":"body","message":"was submitted too quickly"}]}`}
	Broken    = Failure{Status: 502, Body: `{"message":"Server Error"}`}
)

// Secondary is the answer to too many requests at once.
func Secondary(retryAfterS int) Failure {
	return Failure{Status: 403, Header: map[string]string{"Retry-After": fmt.Sprint(retryAfterS)},
		Body: `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`}
}

// Limited is the answer when the hour's requests are used up until reset.
func Limited(reset time.Time) Failure {
	return Failure{Status: 403, Header: map[string]string{"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(reset.Unix())},
		Body: `{"message":"API rate limit exceeded for installation.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"}`}
}

// AddComment puts a comment there and gives its id.
func (s *Server) AddComment(number int, login, body string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addComment(number, login, body).ID
}

func (s *Server) addComment(number int, login, body string) Comment {
	s.next++
	c := Comment{s.next, number, login, body}
	s.comments = append(s.comments, c)
	return c
}

// AddPull puts a pull request there.
func (s *Server) AddPull(p Pull) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulls = append(s.pulls, p)
}

// Comments of a pull request, the oldest first.
func (s *Server) Comments(number int) []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on(number)
}

func (s *Server) on(number int) []Comment {
	var out []Comment
	for _, c := range s.comments {
		if c.Number == number {
			out = append(out, c)
		}
	}
	return out
}

// CheckRuns are the bodies of the check runs that were made.
func (s *Server) CheckRuns() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]any(nil), s.checks...)
}

// Requests that came, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Count of the requests whose method and path begin with match.
func (s *Server) Count(match string) int {
	n := 0
	for _, r := range s.Requests() {
		if strings.HasPrefix(r.Method+" "+r.Path, match) {
			n++
		}
	}
	return n
}

// Transport reaches the server without a network.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ s *Server }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.RequestURI = in.URL.RequestURI()
	rec := httptest.NewRecorder()
	t.s.ServeHTTP(rec, in)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	res := rec.Result()
	res.Request = r
	return res, nil
}

// ServeHTTP answers as GitHub.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 10<<20))
	if err != nil {
		answer(w, Failure{Status: 400, Body: `{"message":"Problems parsing JSON"}`})
		return
	}
	path, ok := strings.CutPrefix(r.URL.RequestURI(), s.Prefix)
	if s.Prefix != "" && r.URL.Path == strings.TrimSuffix(s.Prefix, "/v3")+"/graphql" {
		path, ok = "/graphql", true
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{r.Method, path, r.Header.Clone(), body})
	fail := s.failing(r.Method + " " + path)
	s.mu.Unlock()
	if fail != nil {
		if fail.Delay > 0 {
			select {
			case <-time.After(fail.Delay):
			case <-r.Context().Done():
				return
			}
		}
		if fail.Done {
			s.serve(httptest.NewRecorder(), r, path, body)
		}
		if fail.Status != 0 {
			answer(w, *fail)
			return
		}
	}
	switch {
	case !ok:
		answer(w, NotFound)
	case s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token:
		answer(w, Failure{Status: 401, Body: `{"message":"Bad credentials","documentation_url":"https://docs.github.com/rest"}`})
	default:
		s.serve(w, r, path, body)
	}
}

// failing takes the failure that is due.
func (s *Server) failing(request string) *Failure {
	for _, f := range s.failures {
		if f.times != 0 && strings.HasPrefix(request, f.match) {
			f.times--
			return &f.Failure
		}
	}
	return nil
}

func answer(w http.ResponseWriter, f Failure) {
	for k, v := range f.Header {
		w.Header().Set(k, v)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(f.Status)
	_, _ = io.WriteString(w, f.Body)
}

func send(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	if err := json.MarshalWrite(&b, v); err != nil {
		answer(w, Broken)
		return
	}
	answer(w, Failure{Status: status, Body: b.String()})
}
