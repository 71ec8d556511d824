package actions

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runner is the runner's side: an environment with its files, and a log.
type runner struct {
	*Action
	env map[string]string
	log bytes.Buffer
}

func newRunner(t *testing.T, opts ...Option) *runner {
	t.Helper()
	r := &runner{env: map[string]string{}}
	for _, name := range []string{"OUTPUT", "ENV", "STATE", "PATH", "STEP_SUMMARY"} {
		r.env["GITHUB_"+name] = filepath.Join(t.TempDir(), name)
	}
	r.Action = New(append([]Option{WithWriter(&r.log), WithGetenv(func(k string) string { return r.env[k] })}, opts...)...)
	return r
}

func (r *runner) file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(r.env["GITHUB_"+name])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// values reads a file of values as the runner does.
func values(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for text != "" {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			t.Fatalf("the file ends in the middle of %q", line)
		}
		name, delimiter, ok := strings.Cut(line, "<<")
		if !ok {
			t.Fatalf("line %q is outside of a value", line)
		}
		value, rest, ok := strings.Cut(rest, "\n"+delimiter+"\n")
		if !ok {
			t.Fatalf("no end of %q in %q", name, text)
		}
		out[name] = value
		text = rest
	}
	return out
}

func TestGetInput(t *testing.T) {
	r := newRunner(t)
	r.env["INPUT_FAIL-ON"] = " regression\n"
	r.env["INPUT_MY_OLD_NAME"] = "x"
	for name, want := range map[string]string{"fail-on": "regression", "my old name": "x", "none": ""} {
		if got := r.GetInput(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	r := newRunner(t)
	want := map[string]string{"verdict": "regression", "lines": "a\nb\r\nEOF\nghadelimiter_x", "empty": "", "inject": "x\nother=1\nother<<E\ny\nE"}
	for _, name := range []string{"verdict", "lines", "empty", "inject"} {
		r.SetOutput(name, want[name])
		r.SetEnv(name, want[name])
		r.SaveState(name, want[name])
	}
	for _, file := range []string{"OUTPUT", "ENV", "STATE"} {
		if diff := cmp.Diff(want, values(t, r.file(t, file))); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
	r.AddPath("/opt/bin")
	if got := r.file(t, "PATH"); got != "/opt/bin\n" {
		t.Errorf("%q", got)
	}
	if r.log.Len() > 0 {
		t.Errorf("log: %s", r.log.String())
	}
	for _, bad := range []string{"", "a=b", "a\nb", "a<<b"} {
		r.log.Reset()
		r.SetOutput(bad, "x")
		if !strings.HasPrefix(r.log.String(), "::error::") {
			t.Errorf("%q is taken for a name", bad)
		}
	}
	if diff := cmp.Diff(want, values(t, r.file(t, "OUTPUT"))); diff != "" {
		t.Error(diff)
	}
}

// A delimiter that occurs in the value would end it early.
func TestDelimiterInValue(t *testing.T) {
	tries := []string{"a", "b", "c"}
	next := func() string { s := tries[0]; tries = tries[1:]; return s }
	text, err := heredoc("n", "ghadelimiter_a ghadelimiter_b", next)
	if err != nil || text != "n<<ghadelimiter_c\nghadelimiter_a ghadelimiter_b\nghadelimiter_c" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := heredoc("n", "ghadelimiter_a", func() string { return "a" }); err == nil {
		t.Error("no error where every delimiter occurs")
	}
}

func TestNoFiles(t *testing.T) {
	r := newRunner(t)
	r.env = map[string]string{}
	r.SetOutput("a", "b")
	r.AddStepSummary("x")
	if r.log.Len() > 0 {
		t.Errorf("%q", r.log.String())
	}
	r.env["GITHUB_OUTPUT"] = filepath.Join(t.TempDir(), "none", "file")
	r.SetOutput("a", "b")
	if !strings.HasPrefix(r.log.String(), "::error::actions: GITHUB_OUTPUT") {
		t.Errorf("%q", r.log.String())
	}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		do   func(a *Action)
		want string
	}{
		{func(a *Action) { a.Debugf("%d %%", 5) }, "::debug::5 %25\n"},
		{func(a *Action) { a.Noticef("a") }, "::notice::a\n"},
		{func(a *Action) { a.Warningf("two\r\nlines: a, b") }, "::warning::two%0D%0Alines: a, b\n"},
		{func(a *Action) {
			a.WithFieldsMap(map[string]string{"title": "a: b, c%\n", "file": "x.go", "line": ""}).Errorf("::error::x")
		},
			"::error file=x.go,title=a%3A b%2C c%25%0A::::error::x\n"},
		{func(a *Action) { a.WithFieldsSlice("line=3", "file=a=b").Warningf("x") }, "::warning file=a=b,line=3::x\n"},
		{func(a *Action) { a.Group("Engine\n::endgroup::") }, "::group::Engine%0A::endgroup::\n"},
		{func(a *Action) { a.EndGroup() }, "::endgroup::\n"},
		{func(a *Action) { a.AddMatcher("m.json") }, "::add-matcher::m.json\n"},
		{func(a *Action) { a.AddMask("s%cret") }, "::add-mask::s%25cret\n"},
		{func(a *Action) { a.AddMask("one\ntwo\n") }, "::add-mask::one%0Atwo%0A\n::add-mask::one\n::add-mask::two\n"},
		{func(a *Action) { a.AddMask(" \n") }, ""},
		{func(a *Action) { a.IssueCommand(&Command{Message: "x"}) }, "::missing.command::x\n"},
		{func(a *Action) { a.Infof("%s", "std::vector is fine") }, "std::vector is fine\n"},
	} {
		r := newRunner(t)
		c.do(r.Action)
		if got := r.log.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	r := newRunner(t, WithFields(CommandProperties{"file": "f"}))
	code := 0
	r.exit = func(n int) { code = n }
	r.Fatalf("x")
	if code != 1 || r.log.String() != "::error file=f::x\n" {
		t.Errorf("%d %q", code, r.log.String())
	}
	r.log.Reset()
	r.Infof("ok\n ::set-env name=PATH::/evil\nok")
	lines := strings.Split(r.log.String(), "\n")
	if len(lines) != 6 || !strings.HasPrefix(lines[1], "::stop-commands::") || lines[3] != "::"+strings.TrimPrefix(lines[1], "::stop-commands::")+"::" {
		t.Errorf("%q", lines)
	}
	defer func() {
		if recover() == nil {
			t.Error("a field without = is taken")
		}
	}()
	r.WithFieldsSlice("x")
}

func TestAnnotationsBeyondTen(t *testing.T) {
	r := newRunner(t)
	for range 12 {
		r.Warningf("::error::w")
		r.WithFieldsMap(map[string]string{"title": "t"}).Warningf("v")
	}
	r.Errorf("e")
	log := r.log.String()
	if n := strings.Count(log, "::warning"); n != MaxAnnotations || strings.Count(log, "Warning: ") != 14 || !strings.Contains(log, "::error::e\n") {
		t.Errorf("%d warnings: %s", n, log)
	}
}

func TestStepSummary(t *testing.T) {
	r := newRunner(t)
	r.AddStepSummary("# a")
	if err := r.AddStepSummaryTemplate("{{.}} lines", 3); err != nil {
		t.Fatal(err)
	}
	if got := r.file(t, "STEP_SUMMARY"); got != "# a\n3 lines\n" {
		t.Errorf("%q", got)
	}
	if r.AddStepSummaryTemplate("{{", nil) == nil || r.AddStepSummaryTemplate("{{.x}}", 1) == nil {
		t.Error("a broken template is no error")
	}
	r.AddStepSummary(strings.Repeat("漢字\n", 200_000))
	text := r.file(t, "STEP_SUMMARY")
	if len(text) > MaxSummary || len(text) < MaxSummary-200 || !strings.HasSuffix(text, summaryCut+"\n") || !strings.Contains(text, "漢字\n\n_The rest") {
		t.Errorf("%d bytes, ends with %q", len(text), text[len(text)-100:])
	}
	r.AddStepSummary("more")
	if got := r.file(t, "STEP_SUMMARY"); got != text || !strings.Contains(r.log.String(), "::warning::the step's summary is full") {
		t.Error("a full summary grows")
	}
}

func TestContext(t *testing.T) {
	r := newRunner(t)
	c, err := r.Context()
	if err != nil || c.APIURL != "https://api.github.com" || c.ServerURL != "https://github.com" || c.Actions {
		t.Errorf("%+v, %v", c, err)
	}
	event := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(event, []byte(`{"action":"opened","number":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "org/engine", "GITHUB_RUN_ID": "99", "GITHUB_EVENT_PATH": event, "GITHUB_API_URL": "https://ghe.example/api/v3", "GITHUB_SHA": "abc"} {
		r.env[k] = v
	}
	c, err = r.Context()
	if err != nil {
		t.Fatal(err)
	}
	owner, name := c.Repo()
	if !c.Actions || c.RunID != 99 || owner != "org" || name != "engine" || c.Event["number"] != 7.0 || c.APIURL != "https://ghe.example/api/v3" || c.SHA != "abc" {
		t.Errorf("%+v", c)
	}
	for k, v := range map[string]string{"GITHUB_RUN_ID": "x", "GITHUB_ACTIONS": "perhaps"} {
		old := r.env[k]
		r.env[k] = v
		if _, err := r.Context(); err == nil || !strings.Contains(err.Error(), k) {
			t.Errorf("%s=%s: %v", k, v, err)
		}
		r.env[k] = old
	}
	if err := os.WriteFile(event, []byte(`{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Context(); err == nil {
		t.Error("a broken payload is no error")
	}
	r.env["GITHUB_EVENT_PATH"] = filepath.Join(t.TempDir(), "none")
	if c, err := r.Context(); err != nil || c.Event != nil {
		t.Errorf("%v %v", c, err)
	}
}

type answers func(*http.Request) (*http.Response, error)

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestGetIDToken(t *testing.T) {
	const secret = "canary-request-token"
	status, body := 200, `{"count":1,"value":"the.id.token"}`
	var asked *http.Request
	client := &http.Client{Transport: answers(func(r *http.Request) (*http.Response, error) {
		asked = r
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
	r := newRunner(t, WithHTTPClient(client))
	if _, err := r.GetIDToken(context.Background(), "x"); err == nil || !strings.Contains(err.Error(), "id-token: write") {
		t.Error(err)
	}
	r.env["ACTIONS_ID_TOKEN_REQUEST_URL"] = "https://pipelines.example/token?api-version=2.0"
	r.env["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] = secret
	got, err := r.GetIDToken(t.Context(), "sts.amazonaws.com")
	if err != nil || got != "the.id.token" || asked.URL.RawQuery != "api-version=2.0&audience=sts.amazonaws.com" || asked.Header.Get("Authorization") != "Bearer "+secret {
		t.Errorf("%q %v %v", got, err, asked.URL)
	}
	if _, err := r.GetIDToken(t.Context(), ""); err != nil || strings.Contains(asked.URL.RawQuery, "audience") {
		t.Errorf("%v %v", err, asked.URL)
	}
	for _, c := range []struct {
		status int
		body   string
	}{{403, secret}, {200, `{}`}, {200, "<html>" + secret}} {
		status, body = c.status, c.body
		if _, err := r.GetIDToken(t.Context(), "a"); err == nil || strings.Contains(err.Error(), secret) {
			t.Error(err)
		}
	}
	r.env["ACTIONS_ID_TOKEN_REQUEST_URL"] = "https://x\x00" + secret
	if _, err := r.GetIDToken(t.Context(), "a"); err == nil || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
}

// Whatever name and value are, the runner reads back the value or nothing.
func FuzzKeyValue(f *testing.F) {
	f.Add("a", "b")
	f.Add("a<<b", "c\nd<<e")
	f.Fuzz(func(t *testing.T, name, value string) {
		text, err := heredoc(name, value, func() string { return "random" })
		if err != nil {
			return
		}
		if got := values(t, text+"\n"); len(got) != 1 || got[name] != value {
			t.Errorf("%q: %q comes out as %q", name, value, got)
		}
	})
}

// A command is one line, and its message comes back.
func FuzzCommand(f *testing.F) {
	f.Add("title", "a%\r\n::error::")
	decode := strings.NewReplacer("%25", "%", "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",")
	f.Fuzz(func(t *testing.T, title, message string) {
		line := (&Command{Name: "error", Message: message, Properties: CommandProperties{"title": title}}).String()
		if strings.ContainsAny(line, "\r\n") {
			t.Errorf("%q", line)
		}
		properties, data, _ := strings.Cut(strings.TrimPrefix(line, "::error"), "::")
		if got := decode.Replace(strings.TrimPrefix(properties, " title=")); got != title {
			t.Errorf("%q, want %q", got, title)
		}
		if got := decode.Replace(data); got != message {
			t.Errorf("%q, want %q", got, message)
		}
	})
}
