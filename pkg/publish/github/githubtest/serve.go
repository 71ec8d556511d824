package githubtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// serve answers a request that nothing stands in the way of.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, _, _ = strings.Cut(path, "?")
	w.Header().Set("X-RateLimit-Limit", "1000")
	w.Header().Set("X-RateLimit-Remaining", "900")
	w.Header().Set("X-RateLimit-Reset", "4102444800")
	switch {
	case path == "/user" && s.App:
		answer(w, Forbidden)
		return
	case path == "/user":
		send(w, http.StatusOK, map[string]any{"login": s.Login, "id": 1, "type": "User"})
		return
	case path == "/graphql" && r.Method == http.MethodPost:
		send(w, http.StatusOK, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": s.Login}}})
		return
	}
	rest, ok := strings.CutPrefix(path, "/repos/"+s.Repo+"/")
	if !ok {
		answer(w, NotFound)
		return
	}
	part := strings.Split(rest, "/")
	at := func(i int) int64 {
		n, err := strconv.ParseInt(part[i], 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	switch {
	case len(part) == 3 && part[0] == "issues" && part[2] == "comments":
		s.issueComments(w, r, int(at(1)), body)
	case len(part) == 3 && part[0] == "issues" && part[1] == "comments":
		s.oneComment(w, r, at(2), body)
	case rest == "pulls" && r.Method == http.MethodGet:
		s.listPulls(w, r, "")
	case len(part) == 2 && part[0] == "pulls" && r.Method == http.MethodGet:
		s.onePull(w, int(at(1)))
	case len(part) == 3 && part[0] == "commits" && part[2] == "pulls" && r.Method == http.MethodGet:
		s.listPulls(w, r, part[1])
	case rest == "check-runs" && r.Method == http.MethodPost:
		s.checkRun(w, body)
	default:
		answer(w, NotFound)
	}
}

func (s *Server) shown(c Comment) map[string]any {
	kind := "User"
	if strings.HasSuffix(c.Login, "[bot]") {
		kind = "Bot"
	}
	return map[string]any{
		"id": c.ID, "body": c.Body, "user": map[string]any{"login": c.Login, "id": 1, "type": kind},
		"html_url": fmt.Sprintf("https://github.test/%s/pull/%d#issuecomment-%d", s.Repo, c.Number, c.ID),
	}
}

// text takes the body of a comment out of a request, or answers why not.
func (s *Server) text(w http.ResponseWriter, body []byte) (string, bool) {
	var in struct {
		Body *string `json:"body"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		answer(w, Failure{Status: 400, Body: `{"message":"Problems parsing JSON"}`})
		return "", false
	}
	if in.Body == nil || *in.Body == "" {
		answer(w, Failure{Status: 422, Body: `{"message":"Validation Failed","errors":[{"resource":"IssueComment","code":"missing_field","field":"body"}]}`})
		return "", false
	}
	if utf8.RuneCountInString(*in.Body) > s.MaxBody {
		answer(w, TooLong)
		return "", false
	}
	return *in.Body, true
}

func (s *Server) issueComments(w http.ResponseWriter, r *http.Request, number int, body []byte) {
	if !slices.ContainsFunc(s.pulls, func(p Pull) bool { return p.Number == number }) && len(s.pulls) > 0 {
		answer(w, NotFound)
		return
	}
	switch r.Method {
	case http.MethodGet:
		list := []map[string]any{}
		for _, c := range s.on(number) {
			list = append(list, s.shown(c))
		}
		page(w, r, list)
	case http.MethodPost:
		if text, ok := s.text(w, body); ok {
			send(w, http.StatusCreated, s.shown(s.addComment(number, s.Login, text)))
		}
	default:
		answer(w, NotFound)
	}
}

func (s *Server) oneComment(w http.ResponseWriter, r *http.Request, id int64, body []byte) {
	i := slices.IndexFunc(s.comments, func(c Comment) bool { return c.ID == id })
	if i < 0 {
		answer(w, NotFound)
		return
	}
	switch r.Method {
	case http.MethodGet:
		send(w, http.StatusOK, s.shown(s.comments[i]))
	case http.MethodPatch, http.MethodDelete:
		if s.comments[i].Login != s.Login {
			answer(w, Forbidden)
			return
		}
		if r.Method == http.MethodDelete {
			s.comments = slices.Delete(s.comments, i, i+1)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if text, ok := s.text(w, body); ok {
			s.comments[i].Body = text
			send(w, http.StatusOK, s.shown(s.comments[i]))
		}
	default:
		answer(w, NotFound)
	}
}

// listPulls lists pull requests: of a commit, or those that the query asks for.
func (s *Server) listPulls(w http.ResponseWriter, r *http.Request, commit string) {
	q := r.URL.Query()
	list := []map[string]any{}
	for _, p := range s.pulls {
		label := p.HeadOwner + ":" + p.HeadBranch
		switch {
		case commit != "" && p.HeadSHA != commit:
			continue
		case commit == "" && q.Get("state") != "all" && p.State != cmp.Or(q.Get("state"), "open"):
			continue
		case commit == "" && strings.Contains(q.Get("head"), ":") && q.Get("head") != label: // without ":" GitHub takes no notice of it
			continue
		}
		list = append(list, p.shown())
	}
	page(w, r, list)
}

func (s *Server) onePull(w http.ResponseWriter, number int) {
	for _, p := range s.pulls {
		if p.Number == number {
			send(w, http.StatusOK, p.shown())
			return
		}
	}
	answer(w, NotFound)
}

func (p *Pull) shown() map[string]any {
	return map[string]any{
		"number": p.Number, "state": p.State,
		"head": map[string]any{"sha": p.HeadSHA, "ref": p.HeadBranch, "label": p.HeadOwner + ":" + p.HeadBranch, "user": map[string]any{"login": p.HeadOwner}},
	}
}

func (s *Server) checkRun(w http.ResponseWriter, body []byte) {
	var in map[string]any
	if err := json.Unmarshal(body, &in); err != nil {
		answer(w, Failure{Status: 400, Body: `{"message":"Problems parsing JSON"}`})
		return
	}
	for _, field := range []string{"name", "head_sha"} {
		if v, ok := in[field].(string); !ok || v == "" {
			answer(w, Failure{Status: 422, Body: `{"message":"Invalid request.\n\n\"` + field + `\" wasn't supplied."}`})
			return
		}
	}
	s.next++
	s.checks = append(s.checks, in)
	send(w, http.StatusCreated, map[string]any{"id": s.next, "html_url": fmt.Sprintf("https://github.test/%s/runs/%d", s.Repo, s.next)})
}

// page sends one page of a list, with links to the others.
func page(w http.ResponseWriter, r *http.Request, list []map[string]any) {
	q := r.URL.Query()
	size, n := number(q.Get("per_page"), 30), number(q.Get("page"), 1)
	size = min(size, 100)
	last := max((len(list)+size-1)/size, 1)
	link := func(to int, rel string) string {
		other := maps.Clone(q)
		other.Set("page", strconv.Itoa(to))
		return "<http://" + r.Host + r.URL.Path + "?" + other.Encode() + `>; rel="` + rel + `"`
	}
	var links []string
	if n > 1 {
		links = append(links, link(n-1, "prev"), link(1, "first"))
	}
	if n < last {
		links = append(links, link(n+1, "next"), link(last, "last"))
	}
	if len(links) > 0 {
		w.Header().Set("Link", strings.Join(links, ", "))
	}
	from := min((n-1)*size, len(list))
	send(w, http.StatusOK, list[from:min(from+size, len(list))])
}

func number(text string, otherwise int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return otherwise
	}
	return n
}
