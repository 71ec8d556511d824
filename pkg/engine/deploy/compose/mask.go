package compose

import (
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// mask takes secrets out of text: values of declared secrets, and of variables
// that are called like one.
type mask struct {
	names  map[string]bool
	values []string
}

func newMask(env []deploy.Var) *mask {
	m := &mask{names: map[string]bool{}}
	for _, v := range env {
		if v.Secret {
			m.names[v.Name] = true
			m.add(v.Value)
		}
	}
	return m
}

// learn adds what stands in the files.
func (m *mask) learn(p *project) {
	for _, s := range p.Services {
		for name, value := range s.Environment {
			if value != nil && m.hidden(name) {
				m.add(*value)
			}
		}
	}
}

// shortest is the length from which a value is looked for in other text; below it,
// it would be found in everything.
const shortest = 4

func (m *mask) add(value string) {
	if len(value) < shortest || slices.Contains(m.values, value) {
		return
	}
	m.values = append(m.values, value)
	slices.SortFunc(m.values, func(a, b string) int { return len(b) - len(a) }) // one may hold another
}

// hidden tells whether a variable of this name holds a secret.
func (m *mask) hidden(name string) bool {
	if m.names[name] {
		return true
	}
	name = strings.ToUpper(name)
	for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY"} {
		if strings.Contains(name, word) && !strings.Contains(name, "TOKENIZER") && !strings.Contains(name, "TOKENS") {
			return true
		}
	}
	return false
}

func (m *mask) string(text string) string {
	if m == nil {
		return text
	}
	for _, v := range m.values {
		text = strings.ReplaceAll(text, v, deploy.Masked)
	}
	return text
}
