package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/go-json-experiment/json"
)

// audience is whom GitHub's token is for.
const audience = "sts.amazonaws.com"

// Bounds of asking for a token.
const (
	tokenWithin = 30 * time.Second
	maxToken    = 64 << 10
)

// doer sends requests; both SDK and the token go through the same one and its proxy.
type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// assumeByToken exchanges GitHub's token for a role's credentials whenever they are
// needed and those at hand have expired.
func assumeByToken(cfg *aws.Config, client doer, o *Options, s *secrets) aws.CredentialsProvider {
	own := cfg.Copy()
	own.Credentials = nil // the exchange is not signed
	provider := stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(own), o.RoleToAssume,
		&githubToken{client, o.Env, s}, func(w *stscreds.WebIdentityRoleOptions) { w.RoleSessionName = sessionName(o.Env) })
	return aws.NewCredentialsCache(provider, func(c *aws.CredentialsCacheOptions) { c.ExpiryWindow = 2 * time.Minute })
}

// githubToken asks the Actions runner for a token that says which workflow this is
// (docs.github.com, "OpenID Connect reference").
type githubToken struct {
	client  doer
	env     func(string) string
	secrets *secrets
}

// GetIdentityToken is called by the SDK.
func (g *githubToken) GetIdentityToken() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), tokenWithin)
	defer cancel()
	token, err := g.ask(ctx)
	if err != nil {
		return nil, &credentialsError{reason: "GitHub gave no token for the role: " + printable(g.secrets.scrub(err.Error())), advice: adviceToken}
	}
	g.secrets.add(token)
	return []byte(token), nil
}

// checkToken says that the job may not ask for a token.
func checkToken(env func(string) string) error {
	if env == nil {
		env = os.Getenv
	}
	if env(tokenURL) == "" || env(tokenBearer) == "" {
		return errors.New("GitHub gives this job no token for the role; " + adviceToken)
	}
	return nil
}

// The runner's offer of tokens.
const (
	tokenURL    = "ACTIONS_ID_TOKEN_REQUEST_URL"
	tokenBearer = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
	adviceToken = "give the job the permission id-token: write"
)

func (g *githubToken) ask(ctx context.Context) (string, error) {
	at, bearer := g.env(tokenURL), g.env(tokenBearer)
	if at == "" || bearer == "" {
		return "", errors.New("ACTIONS_ID_TOKEN_REQUEST_URL and ACTIONS_ID_TOKEN_REQUEST_TOKEN are not set")
	}
	g.secrets.add(bearer)
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return "", errors.New("ACTIONS_ID_TOKEN_REQUEST_URL is no address")
	}
	q := u.Query()
	q.Set("audience", audience)
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", errors.New("ACTIONS_ID_TOKEN_REQUEST_URL is no address")
	}
	req.Header.Set("Authorization", "bearer "+bearer)
	req.Header.Set("Accept", "application/json")
	res, err := g.client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxToken))
	switch {
	case err != nil:
		return "", err
	case res.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s answers HTTP %d", u.Host, res.StatusCode)
	}
	var answer struct {
		Value string `json:"value"`
	}
	if json.Unmarshal(text, &answer) != nil || answer.Value == "" { // what it says instead could be a token
		return "", fmt.Errorf("the answer of %s holds none", u.Host)
	}
	return answer.Value, nil
}

var notInSession = regexp.MustCompile(`[^A-Za-z0-9_=,.@-]+`)

// sessionName says in CloudTrail who it was. STS allows 2 to 64 characters.
func sessionName(env func(string) string) string {
	id, repo := env("GITHUB_RUN_ID"), notInSession.ReplaceAllString(env("GITHUB_REPOSITORY"), "-")
	if id == "" {
		return "agentx"
	}
	tail := "-" + notInSession.ReplaceAllString(id, "-")
	tail = tail[max(0, len(tail)-40):]
	return "agentx-" + repo[:min(len(repo), 64-len("agentx-")-len(tail))] + tail
}
