package config

import (
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// maxValue bounds a value after replacing.
const maxValue = 1 << 20

// substitute replaces ${NAME} in keys that take it. In others it is an error: who
// writes it does not mean the letters.
func (r *reader) substitute(n *yaml.Node, key Key, text, what string) (string, bool) {
	if !key.Substitute {
		if m := variable.FindString(text); m != "" {
			r.refuse(n, "%s: takes no variables, and %s is one", what, clip(m))
			return "", false
		}
		return text, true
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "$")
		b.WriteString(before)
		if !found {
			break
		}
		if tail, ok := strings.CutPrefix(after, "$"); ok {
			b.WriteByte('$')
			rest = tail
			continue
		}
		name, tail, closed := strings.Cut(after, "}")
		name, opened := strings.CutPrefix(name, "{")
		if !opened || !closed || !variableName(name) {
			r.refuse(n, "%s: a $ begins ${NAME}; write $$ for the letter", what)
			return "", false
		}
		var value string
		ok := false
		if r.lookup != nil {
			value, ok = r.lookup(name)
		}
		if !ok {
			r.refuse(n, "%s: the environment has no variable %s", what, clip(name))
			return "", false
		}
		b.WriteString(value)
		if b.Len() > maxValue {
			r.refuse(n, "%s: larger than %d bytes with its variables", what, maxValue)
			return "", false
		}
		rest = tail
	}
	return b.String(), true
}

func variableName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// below takes a relative path from the file's folder.
func (r *reader) below(key Key, text string) string {
	dir := filepath.Dir(r.file)
	switch {
	case !key.Path || text == "" || filepath.IsAbs(text) || dir == ".":
		return text
	case strings.Contains(text, ":") && !strings.HasPrefix(text, "./") && !strings.HasPrefix(text, "../"):
		return text // a volume by its name
	}
	joined := filepath.Join(dir, text)
	if !filepath.IsAbs(joined) && strings.HasPrefix(text, ".") && !strings.HasPrefix(joined, ".") {
		joined = "./" + joined // still a path and no name
	}
	return joined
}
