package preset

import (
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// Mask is a command line without the values of flags that carry secrets, as
// --api-key and --hf-token: those whose last word says so.
func Mask(args []string) []string {
	out := slices.Clone(args)
	hide := false
	for i, a := range out {
		switch {
		case isFlag(a):
			name, _, inline := strings.Cut(a, "=")
			hide = SecretName(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_"))
			if hide && inline {
				out[i] = name + "=" + deploy.Masked
			}
		case hide:
			out[i] = deploy.Masked
		}
	}
	return out
}

// SecretName reports whether a variable of that name is better not shown, wherever
// it came from: its last word is TOKEN, KEY, SECRET, PASSWORD or the like.
func SecretName(name string) bool {
	parts := strings.Split(strings.ToUpper(name), "_")
	return slices.Contains([]string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASS", "KEY", "APIKEY", "CREDENTIALS"}, parts[len(parts)-1])
}
