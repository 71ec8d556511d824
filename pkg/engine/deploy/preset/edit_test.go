package preset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEdit(t *testing.T) {
	base := []string{"org/model", "--host", "0.0.0.0", "--max-num-seqs", "16", "--enable-prefix-caching", "--kv-cache-dtype", "fp8"}
	for _, c := range []struct {
		name  string
		edits []string
		want  string
	}{
		{"none", nil, "org/model --host 0.0.0.0 --max-num-seqs 16 --enable-prefix-caching --kv-cache-dtype fp8"},
		{"append", []string{"--block-size=128"}, "org/model --host 0.0.0.0 --max-num-seqs 16 --enable-prefix-caching --kv-cache-dtype fp8 --block-size=128"},
		{"append a flag and its values", []string{"--lora-modules", "a", "b", "--seed", "-1"}, "org/model --host 0.0.0.0 --max-num-seqs 16 --enable-prefix-caching --kv-cache-dtype fp8 --lora-modules a b --seed -1"},
		{"replace in place", []string{"--max-num-seqs=64"}, "org/model --host 0.0.0.0 --max-num-seqs=64 --enable-prefix-caching --kv-cache-dtype fp8"},
		{"underscores are the same name", []string{"--max_num_seqs=64"}, "org/model --host 0.0.0.0 --max_num_seqs=64 --enable-prefix-caching --kv-cache-dtype fp8"},
		{"off replaces on", []string{"--no-enable-prefix-caching"}, "org/model --host 0.0.0.0 --max-num-seqs 16 --no-enable-prefix-caching --kv-cache-dtype fp8"},
		{"remove with its value", []string{"!--max-num-seqs"}, "org/model --host 0.0.0.0 --enable-prefix-caching --kv-cache-dtype fp8"},
		{"twice is twice", []string{"--lora=a", "--lora=b", "--host=1", "--host=2"}, "org/model --host=1 --max-num-seqs 16 --enable-prefix-caching --kv-cache-dtype fp8 --lora=a --lora=b --host=2"},
		{"remove and give again", []string{"!--kv-cache-dtype", "--kv-cache-dtype=auto"}, "org/model --host 0.0.0.0 --max-num-seqs 16 --enable-prefix-caching --kv-cache-dtype=auto"},
	} {
		before := strings.Join(base, " ")
		got, err := Edit(base, c.edits)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if strings.Join(base, " ") != before {
			t.Fatalf("%s: changed what it was given", c.name)
		}
	}
}

func TestEditKnowsShortForms(t *testing.T) {
	got, err := Edit([]string{"--tensor-parallel-size", "8"}, []string{"-tp", "4"})
	if err != nil || strings.Join(got, " ") != "-tp 4" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestEditRefuses(t *testing.T) {
	for _, c := range []struct {
		edits []string
		want  string
	}{
		{[]string{"word"}, "--args word: want --flag"},
		{[]string{"!--absent"}, "no --absent"},
		{[]string{"!--host=1"}, "removed by its name alone"},
		{[]string{"!--host", "1"}, "removed by its name alone"},
	} {
		if _, err := Edit([]string{"--host", "0.0.0.0"}, c.edits); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q", c.edits, err, c.want)
		}
	}
}
