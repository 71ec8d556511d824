package main

import (
	"io"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/publish/actions/untrusted"
)

// muzzle makes a log of GitHub's of a console: no secret gets into it, and nothing
// that others wrote, an engine for one, is taken for a command. Both streams become
// one, since groups have a beginning and an end in it. The runner is told to mask the
// secrets too, for the steps that follow. args are command lines of the engine's, whose
// --api-key and the like are secrets as well.
func (c *console) muzzle(secrets, args []string) {
	raw := &oneAtATime{w: c.out}
	runner := actions.New(actions.WithWriter(raw))
	for _, s := range secrets {
		runner.AddMask(s)
	}
	c.keepSecret(secrets, args)
	c.commands = &masked{w: raw, secrets: c.secrets}
	lines := untrusted.Writer(raw)
	text := c.secrets.Redact(lines)
	c.out, c.err = text, text
	c.close = func() {
		_ = text.Flush()  // nobody is left
		_ = lines.Close() // to be told
	}
}

// keepSecret notes what is to be shown nowhere.
func (c *console) keepSecret(secrets, args []string) {
	var vars []deploy.Var
	for _, s := range secrets {
		vars = append(vars, deploy.Var{Value: s, Secret: true})
		if in := inCommand.Replace(s); in != s {
			vars = append(vars, deploy.Var{Value: in, Secret: true})
		}
	}
	c.secrets = deploy.SecretsOf(args, vars)
}

// inCommand is how a text stands in a workflow command.
var inCommand = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

// oneAtATime is a writer for several.
type oneAtATime struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneAtATime) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// masked takes whole lines, and masks secrets in them.
type masked struct {
	w       io.Writer
	secrets deploy.Secrets
}

func (m *masked) Write(p []byte) (int, error) {
	if _, err := io.WriteString(m.w, m.secrets.Mask(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// shortestSecret is the length from which a value counts as a secret because of its
// variable's name alone: a shorter one would black out half a log.
const shortestSecret = 8

// secrets are the values that no log, artifact or comment may show.
func (r *runCmd) secrets() (values []string) {
	values = append(values, environmentSecrets()...)
	add := func(v string) {
		if strings.TrimSpace(v) != "" {
			values = append(values, v)
		}
	}
	add(r.GitHubToken)
	add(r.APIKey)
	for _, h := range r.Header {
		_, value, _ := strings.Cut(h, ":")
		value = strings.TrimSpace(value)
		add(value)
		if _, token, ok := strings.Cut(value, " "); ok { // Bearer, Basic
			add(strings.TrimSpace(token))
		}
	}
	for name, value := range r.EngineEnv {
		if deploy.SecretName(name) {
			add(value)
		}
	}
	for _, name := range r.EngineSecretEnv {
		add(os.Getenv(name))
	}
	for _, address := range append([]string{r.BaseURL}, r.URL...) {
		if u, err := url.Parse(address); err == nil && u.User != nil {
			password, _ := u.User.Password()
			add(password)
		}
	}
	return values
}

// inputSecretEnv is how the input engine-secret-env comes: by its name a secret, by what
// it holds the names of some.
const inputSecretEnv = "INPUT_ENGINE-SECRET-ENV"

// environmentSecrets are those that variables of the environment hold, by their names.
func environmentSecrets() (values []string) {
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if name == inputSecretEnv {
			continue // names, whose values are found under them
		}
		if (deploy.SecretName(name) || name == "AWS_ACCESS_KEY_ID") && len(value) >= shortestSecret {
			values = append(values, value)
		}
	}
	return values
}
