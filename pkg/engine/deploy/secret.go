package deploy

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Secrets are what reaches an engine and nothing else. The zero value has none.
type Secrets struct {
	values []string        // longest first
	names  map[string]bool // of variables declared secret
}

// SecretsOf finds the secrets in what is declared for an engine: the values of
// variables that are marked secret or called like one ([SecretName]), and what
// follows --api-key, --hf-token and the like. The lines of a secret of several
// lines are secrets too.
func SecretsOf(args []string, env []Var) Secrets {
	s := Secrets{names: map[string]bool{}}
	found := map[string]bool{}
	for _, v := range env {
		if v.Secret {
			s.names[v.Name] = true
		}
		if s.Hides(v.Name) {
			addSecret(found, v.Value)
		}
	}
	eachSecret(args, func(_ int, _, value string) { addSecret(found, value) })
	s.values = slices.SortedFunc(maps.Keys(found), func(a, b string) int { return len(b) - len(a) })
	return s
}

func addSecret(found map[string]bool, value string) {
	if len(value) >= shortestSecret {
		found[value] = true
	}
	lines := strings.Split(value, "\n")
	for _, line := range lines {
		if line = strings.TrimSpace(line); len(lines) > 1 && len(line) >= shortestLine {
			found[line] = true
		}
	}
}

const (
	// shortestSecret is the length from which a value is looked for in other text;
	// below it, it would be found in everything.
	shortestSecret = 4
	// shortestLine of a secret that counts by itself; shorter ones are braces and
	// the like.
	shortestLine = 8
)

// Hides reports whether the value of a variable of that name is not to be shown.
func (s Secrets) Hides(name string) bool { return s.names[name] || SecretName(name) }

// Mask puts [Masked] in place of each secret.
func (s Secrets) Mask(text string) string {
	for _, value := range s.values {
		text = strings.ReplaceAll(text, value, Masked)
	}
	return text
}

// MaskAll is a copy of a command line with its secrets masked, however short where
// a flag tells them.
func (s Secrets) MaskAll(args []string) []string {
	out := MaskFlags(args)
	for i, arg := range out {
		out[i] = s.Mask(arg)
	}
	return out
}

// MaskEnv is the declared environment, as [Facts] has it.
func (s Secrets) MaskEnv(env []Var) map[string]string {
	if len(env) == 0 {
		return nil
	}
	out := make(map[string]string, len(env))
	for _, v := range env {
		out[v.Name] = s.Mask(v.Value)
		if v.Secret || s.Hides(v.Name) {
			out[v.Name] = Masked
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
