package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is written is read as the same values.
func TestWriteAndReadAgain(t *testing.T) {
	for _, text := range []string{"plain", "a b", "true", "Yes", "null", "~", "1", "1e5", "-x", "- x", "a: b", "a #b", "#", "", " ", "\t", "line\nline", "\"'", "{}", "[a]", "*a", "&a", "!x", "%x", "@x", "`x",
		"$HOME", "${HF}", "$$", "é漢字😀", "\x7f", "\u0085", "\u2028", "\ufeff", "\x01", "a:", "a:b", "http://h:80/p?q=1", "inf", ".inf", "0x1", "2026-01-01", "---", "...", "<<", "=", "\\", "\\n"} {
		entries := []Entry{
			{Key: keys[8], Text: []string{text}, Source: "here"},
			{Key: keys[1], Text: []string{text, "two"}, Source: "here"},
			{Key: keys[9], Text: []string{"A=" + text}, Source: "here"},
		}
		if strings.Contains(text, "${") {
			entries = entries[1:] // a key without variables refuses it
		}
		var b strings.Builder
		if err := Write(&b, entries); err != nil {
			t.Fatal(err)
		}
		f, err := Read("f", []byte(b.String()), keys, nil)
		if err != nil {
			t.Errorf("%q: %v in\n%s", text, err, b.String())
			continue
		}
		for _, e := range entries {
			v, _ := f.Lookup(e.Key.Name)
			if diff := cmp.Diff(e.Text, v.Text); diff != "" {
				t.Errorf("%q: %s", text, diff)
			}
		}
	}
}

func TestSecretsAreNotWritten(t *testing.T) {
	var b strings.Builder
	err := Write(&b, []Entry{
		{Key: keys[10], Text: []string{"canary"}, Source: "flag"},
		{Key: keys[9], Text: []string{"A=1", "TOKEN=canary"}, Source: "f:3", Hidden: []bool{false, true}},
		{Key: keys[1], Text: []string{"a", "canary"}, Source: "f:4", Hidden: []bool{false, true}},
		{Key: keys[0], Text: []string{"canary"}, Source: "f:5", Hidden: []bool{true}},
	})
	if err != nil || strings.Contains(b.String(), "canary") || !strings.Contains(b.String(), "TOKEN") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if _, err := Read("f", []byte(b.String()), keys, nil); err != nil {
		t.Errorf("%v in\n%s", err, b.String())
	}
}
