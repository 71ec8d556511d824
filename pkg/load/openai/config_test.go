package openai

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ url, endpoint, chat, completions, models string }{
		{"http://h:8000", "", "http://h:8000/v1/chat/completions", "http://h:8000/v1/completions", "http://h:8000/v1/models"},
		{" h:8000/ ", "", "http://h:8000/v1/chat/completions", "http://h:8000/v1/completions", "http://h:8000/v1/models"},
		{"127.0.0.1:8000/v1/", "", "http://127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8000/v1/completions", "http://127.0.0.1:8000/v1/models"},
		{"https://h/v1/chat/completions", "", "https://h/v1/chat/completions", "https://h/v1/completions", "https://h/v1/models"},
		{"https://h/v1/completions", "", "https://h/v1/chat/completions", "https://h/v1/completions", "https://h/v1/models"},
		{"https://h/openai/x/chat/completions?api-version=1", "", "https://h/openai/x/chat/completions?api-version=1", "https://h/openai/x/v1/completions?api-version=1", "https://h/openai/x/v1/models"},
		{"h/base", "v2/generate", "http://h/base/v2/generate", "http://h/base/v2/generate", "http://h/base/v1/models"},
		{"h/v1", "/v1/chat/completions", "http://h/v1/chat/completions", "http://h/v1/chat/completions", "http://h/v1/models"},
		{"[::1]:8000", "", "http://[::1]:8000/v1/chat/completions", "http://[::1]:8000/v1/completions", "http://[::1]:8000/v1/models"},
	} {
		a, err := newAddress(c.url, c.endpoint)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if diff := cmp.Diff([]string{c.chat, c.completions, c.models}, []string{a.chat.String(), a.completions.String(), a.models.String()}); diff != "" {
			t.Errorf("%s + %s (-want +got):\n%s", c.url, c.endpoint, diff)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	header := func(name, value string) Config { return Config{URL: "h", Headers: http.Header{name: {value}}} }
	for want, config := range map[string]Config{
		"no URL":                       {},
		"neither http nor https":       {URL: "ftp://h"},
		"no host":                      {URL: "http://:8000"},
		"user name":                    {URL: "http://me:hunter2@h"},
		"fragment":                     {URL: "http://h/#x"},
		"invalid port":                 {URL: "http://me:hunter2@h:port"},
		"line end":                     {URL: "h", APIKey: "a\nb"},
		"both an API key":              {URL: "h", APIKey: "k", Headers: http.Header{"authorization": {"x"}}},
		"no valid name":                header("a b", "x"),
		"value of header X":            header("X", "a\r\nHost: b"),
		"accept-encoding can't be set": header("accept-encoding", "gzip"),
		"content-length can't be set":  header("content-length", "1"),
		"session header \"a b\"":       {URL: "h", SessionHeader: "a b"},
		"belongs to the transport":     {URL: "h", SessionHeader: "connection"},
		"extra input \"stream\"":       {URL: "h", Extra: map[string]jsontext.Value{"stream": jsontext.Value("false")}},
		"extra input \"max_tokens\"":   {URL: "h", Extra: map[string]jsontext.Value{"max_tokens": jsontext.Value("1")}},
		"extra input \"x\" is no JSON": {URL: "h", Extra: map[string]jsontext.Value{"x": jsontext.Value("{")}},
		"timeout -1ns":                 {URL: "h", Timeout: -1},
		"keep-alive time -1ns":         {URL: "h", KeepAlive: -1},
		"-1 connections":               {URL: "h", MaxConns: -1},
		"connection reuse \"always\"":  {URL: "h", Reuse: "always"},
		"empty overflow substring":     {URL: "h", OverflowSubstrings: []string{" "}},
	} {
		_, err := New(config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error that says %q, got %v", want, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error holds a password: %v", err)
		}
	}
}

func TestSecretsAreScrubbed(t *testing.T) {
	scrub := newScrubber("sk-a\"b/c", http.Header{
		"Authorization": {"Basic dXNlcjpwYXNz"}, "X-Api-Key": {"k-12345"}, "X-Team": {"blue"}, "Cookie": {"sid=99"}, "X-Token": {"x"},
	})
	got := scrub(`key sk-a"b/c or sk-a\"b/c or sk-a%22b%2Fc; Basic dXNlcjpwYXNz, dXNlcjpwYXNz; k-12345 sid=99 team blue x`)
	if want := `key *** or *** or ***; ***, ***; *** *** team blue x`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMessagesAreSafeToPrint(t *testing.T) {
	if got := readable("a\x1b[2J\r\nb\tc\x00\xff\u0085"); got != "a[2J b c\uFFFD" {
		t.Errorf("%q", got)
	}
	long := cut(strings.Repeat("é", 2000), 2048)
	if len(long) > 2048 || !strings.HasSuffix(long, "é…") {
		t.Errorf("%d bytes, ends in %q", len(long), long[len(long)-6:])
	}
}

func TestErrorMessages(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"m","type":"t"}}`: "m",
		`{"error":"m"}`:                        "m",
		`{"error":{"code":7}}`:                 `{"code":7}`,
		`{"message":"m"}`:                      "m",
		`{"detail":"m"}`:                       "m",
		`{"error":null,"detail":["a"]}`:        `["a"]`,
		`"m"`:                                  "m",
		`{"other":1}`:                          `{"other":1}`,
		`plain`:                                "plain",
		`{"error":{"mess`:                      `{"error":{"mess`,
		``:                                     "",
	} {
		if got := errorMessage([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
