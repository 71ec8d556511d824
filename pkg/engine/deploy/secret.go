package deploy

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Secrets are values that reach an engine and nothing else. The zero value has
// none.
type Secrets struct {
	values []string // longest first
}

// SecretsOf finds the secrets in what is declared for an engine: the values of
// secret variables, and what follows --api-key, --hf-token and the like. The
// lines of a secret of several lines are secrets too.
func SecretsOf(args []string, env []Var) Secrets {
	found := map[string]bool{}
	add := func(value string) {
		if value == "" {
			return
		}
		found[value] = true
		if lines := strings.Split(value, "\n"); len(lines) > 1 {
			for _, line := range lines {
				if line = strings.TrimSpace(line); len(line) >= shortestLine {
					found[line] = true
				}
			}
		}
	}
	for _, v := range env {
		if v.Secret {
			add(v.Value)
		}
	}
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case !secretFlag(flag):
		case joined:
			add(value)
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "--"):
			add(args[i+1])
		}
	}
	return Secrets{slices.SortedFunc(maps.Keys(found), func(a, b string) int { return len(b) - len(a) })}
}

// shortestLine of a secret that counts by itself; shorter ones are braces and
// the like.
const shortestLine = 8

func secretFlag(name string) bool {
	if !strings.HasPrefix(name, "-") {
		return false
	}
	switch strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-") {
	case "api-key", "admin-api-key", "hf-token", "token", "auth-token", "password", "secret", "secret-key":
		return true
	}
	return false
}

// Mask puts [Masked] in place of each secret.
func (s Secrets) Mask(text string) string {
	for _, value := range s.values {
		text = strings.ReplaceAll(text, value, Masked)
	}
	return text
}

// MaskAll is a copy of a command line with its secrets masked.
func (s Secrets) MaskAll(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = s.Mask(arg)
	}
	return out
}

// MaskEnv is the declared environment, as [Facts] has it.
func (s Secrets) MaskEnv(env []Var) map[string]string {
	out := make(map[string]string, len(env))
	for _, v := range env {
		if v.Secret {
			out[v.Name] = Masked
		} else {
			out[v.Name] = s.Mask(v.Value)
		}
	}
	return out
}

// Redact is a writer to w that masks the secrets, also those that come in
// several writes. What may be the beginning of one waits for the next write or
// Flush.
func (s Secrets) Redact(w io.Writer) *Redactor {
	r := &Redactor{w: w}
	for _, value := range s.values {
		r.secrets = append(r.secrets, []byte(value))
		r.begins[value[0]] = true
	}
	return r
}

// Redactor is made by [Secrets.Redact].
type Redactor struct {
	w       io.Writer
	secrets [][]byte // longest first
	begins  [256]bool

	mu   sync.Mutex
	held []byte
}

// Write writes p without secrets.
func (r *Redactor) Write(p []byte) (int, error) {
	if len(r.secrets) == 0 {
		return r.w.Write(p)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.mask(append(r.held, p...), false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what waited to be a secret and is none.
func (r *Redactor) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mask(r.held, true)
}

func (r *Redactor) mask(text []byte, last bool) error {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if !r.begins[text[0]] {
			out, text = append(out, text[0]), text[1:]
			continue
		}
		if !last && r.unfinished(text) {
			break
		}
		if n := r.match(text); n > 0 {
			out, text = append(out, Masked...), text[n:]
		} else {
			out, text = append(out, text[0]), text[1:]
		}
	}
	r.held = bytes.Clone(text)
	if len(out) == 0 {
		return nil
	}
	_, err := r.w.Write(out)
	return err
}

// unfinished tells whether text may grow into a secret.
func (r *Redactor) unfinished(text []byte) bool {
	return slices.ContainsFunc(r.secrets, func(s []byte) bool {
		return len(s) > len(text) && bytes.HasPrefix(s, text)
	})
}

// match is the length of the longest secret that text begins with.
func (r *Redactor) match(text []byte) int {
	for _, s := range r.secrets {
		if bytes.HasPrefix(text, s) {
			return len(s)
		}
	}
	return 0
}
