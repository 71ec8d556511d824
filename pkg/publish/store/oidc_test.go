package store

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// github stands for the runner's token endpoint and for STS.
type github struct {
	mu              sync.Mutex
	tokens, assumed int
	audience        string
	session, role   string
	lifetime        time.Duration
	refuse          string // code of STS
	noToken         int    // status of the token endpoint
}

const (
	canaryBearer  = "canary-bearer-of-the-runner"
	canaryJWT     = "eyJcanary.jwt.of-github"
	canarySession = "canary-session-token-of-sts"
)

func (g *github) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.URL.Path == "/token" {
		if g.noToken != 0 || r.Header.Get("Authorization") != "bearer "+canaryBearer || r.URL.Query().Get("api-version") != "2.0" {
			http.Error(w, "no: "+r.Header.Get("Authorization"), max(g.noToken, 401))
			return
		}
		g.tokens++
		g.audience = r.URL.Query().Get("audience")
		fmt.Fprintf(w, `{"count":1,"value":%q}`, canaryJWT)
		return
	}
	_ = r.ParseForm() // what is missing shows below
	if g.refuse != "" || r.Form.Get("WebIdentityToken") != canaryJWT || r.Header.Get("Authorization") != "" {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `<ErrorResponse><Error><Code>%s</Code><Message>Not authorized to perform sts:AssumeRoleWithWebIdentity with %s</Message></Error></ErrorResponse>`, g.refuse, r.Form.Get("WebIdentityToken"))
		return
	}
	g.assumed++
	g.session, g.role = r.Form.Get("RoleSessionName"), r.Form.Get("RoleArn")
	fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIACANARY%d</AccessKeyId><SecretAccessKey>canary-secret-of-sts</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
		g.assumed, canarySession, time.Now().Add(g.lifetime).UTC().Format(time.RFC3339))
}

// assuming opens a store whose keys come from the role.
func assuming(t *testing.T, g *github, h http.Handler, env map[string]string) Store {
	t.Helper()
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	asUser(t, "", "", "")
	t.Setenv("AWS_ENDPOINT_URL_STS", server.URL)
	all := map[string]string{
		"ACTIONS_ID_TOKEN_REQUEST_URL": server.URL + "/token?api-version=2.0", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": canaryBearer,
		"GITHUB_RUN_ID": "4711", "GITHUB_REPOSITORY": "octo/engine é" + strings.Repeat("x", 80),
	}
	for k, v := range env {
		all[k] = v
	}
	return serve(t, h, Options{RoleToAssume: "arn:aws:iam::123456789012:role/agentx", Env: func(name string) string { return all[name] }})
}

// The role's keys are asked for by the first request, and again when they expire.
func TestRoleByToken(t *testing.T) {
	g := &github{lifetime: time.Hour}
	fake := fakeS3(t)
	var signed []string
	s := assuming(t, g, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = append(signed, r.Header.Get("Authorization")+r.Header.Get("X-Amz-Security-Token"))
		fake.ServeHTTP(w, r)
	}), nil)
	if g.tokens != 0 {
		t.Error("asked for before it was needed")
	}
	for _, name := range []string{"a", "b"} {
		check(t, s.Put(t.Context(), name, sourceOf([]byte("x"))))
	}
	if g.tokens != 1 || g.assumed != 1 || g.audience != "sts.amazonaws.com" || g.role != "arn:aws:iam::123456789012:role/agentx" {
		t.Errorf("%+v", g)
	}
	if len(g.session) > 64 || !strings.HasPrefix(g.session, "agentx-octo-engine-xxx") || !strings.HasSuffix(g.session, "-4711") {
		t.Errorf("session %q", g.session)
	}
	for _, a := range signed {
		if !strings.Contains(a, "Credential=ASIACANARY1/") || !strings.HasSuffix(a, canarySession) {
			t.Errorf("signed %q", a)
		}
	}
	g.lifetime = time.Second // within the time by which they are renewed early
	s = assuming(t, g, fake, nil)
	check(t, s.Put(t.Context(), "c", sourceOf([]byte("x"))))
	before := g.tokens
	check(t, s.Put(t.Context(), "d", sourceOf([]byte("x"))))
	if g.tokens <= before {
		t.Error("expired keys were not renewed")
	}
}

func TestRoleRefused(t *testing.T) {
	refusing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, 403, "AccessDenied", canarySession+canaryBearer+canaryJWT+" canary-secret-of-sts")
	})
	for name, c := range map[string]struct {
		g    *github
		env  map[string]string
		want []string
	}{
		"trust policy":    {&github{refuse: "AccessDenied"}, nil, []string{"AccessDenied", "trust policy", "sts.amazonaws.com"}},
		"no permission":   {&github{}, map[string]string{"ACTIONS_ID_TOKEN_REQUEST_TOKEN": ""}, []string{"id-token: write"}},
		"no token":        {&github{noToken: 403}, nil, []string{"answers HTTP 403", "id-token: write"}},
		"no address":      {&github{}, map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": "canary\x00"}, []string{"is no address"}},
		"bucket's policy": {&github{lifetime: time.Hour}, nil, []string{"HTTP 403", "s3:PutObject"}},
	} {
		t.Run(name, func(t *testing.T) {
			says(t, assuming(t, c.g, refusing, c.env).Put(t.Context(), "a", sourceOf([]byte("x"))), c.want...)
		})
	}
}
