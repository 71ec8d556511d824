package deploy

import (
	"slices"
	"strings"
	"unicode"
)

// SecretName reports whether a variable, or a flag, of that name is better not
// shown, wherever it came from: HF_TOKEN, --api-key, DB_PASSWORD, GITHUB_TOKEN_2.
// Names that only speak of tokens are none: MAX_TOKENS, TOKENIZERS_PARALLELISM,
// --speculative-token-map.
func SecretName(name string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for len(words) > 1 && strings.Trim(words[len(words)-1], "0123456789") == "" {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return false
	}
	for i, w := range words {
		if slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(w, part) }) ||
			w == "KEY" && i > 0 && slices.Contains(secretKeys, words[i-1]) {
			return true
		}
	}
	last := words[len(words)-1]
	return last == "KEY" || last == "PASS" || strings.HasSuffix(last, "TOKEN")
}

var (
	// secretParts of a word say so anywhere in a name.
	secretParts = []string{"SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "JWT"}
	// secretKeys are kinds of keys that open something; others do only at the end.
	secretKeys = []string{"API", "ACCESS", "PRIVATE"}
)

// IsFlag tells flags from values, of which negative numbers are some.
func IsFlag(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && (arg[1] < '0' || arg[1] > '9') && arg[1] != '.'
}

// MaskFlags is a copy of a command line with [Masked] for the values of flags that
// carry secrets.
func MaskFlags(args []string) []string {
	out := slices.Clone(args)
	eachSecret(args, func(i int, flag, _ string) { out[i] = flag + Masked })
	return out
}

// eachSecret finds the values of flags that carry secrets: flag is what stands
// before the value in its argument, as --token=, and empty where it has one of its
// own.
func eachSecret(args []string, found func(i int, flag, value string)) {
	hide := false
	for i, arg := range args {
		switch {
		case IsFlag(arg):
			name, value, inline := strings.Cut(arg, "=")
			if hide = SecretName(name); hide && inline {
				found(i, name+"=", value)
			}
		case hide:
			found(i, "", arg)
		}
	}
}
