package openai

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// secrets are the texts that must not reach a record: the API key and the
// values of headers whose names sound like one, in every spelling in which an
// engine or a library could quote them.
func secrets(apiKey string, headers http.Header) []string {
	values := []string{apiKey}
	for name, list := range headers {
		if !sensitive(name) {
			continue
		}
		for _, value := range list {
			values = append(values, value)
			if scheme, rest, ok := strings.Cut(value, " "); ok && scheme != "" {
				values = append(values, strings.TrimSpace(rest))
			}
		}
	}
	var found []string
	for _, value := range values {
		if len(value) < minSecret {
			continue
		}
		quoted := strconv.Quote(value)
		found = append(found, value, quoted[1:len(quoted)-1], url.QueryEscape(value), base64.StdEncoding.EncodeToString([]byte(value)))
	}
	return found
}

// minSecret keeps a key like "x" from erasing every x of a message.
const minSecret = 4

func sensitive(name string) bool {
	name = strings.ToLower(name)
	for _, mark := range []string{"auth", "key", "token", "secret", "cookie", "password", "credential"} {
		if strings.Contains(name, mark) {
			return true
		}
	}
	return false
}

func newScrubber(apiKey string, headers http.Header) func(string) string {
	var pairs []string
	for _, secret := range secrets(apiKey, headers) {
		pairs = append(pairs, secret, "***")
	}
	return strings.NewReplacer(pairs...).Replace
}
