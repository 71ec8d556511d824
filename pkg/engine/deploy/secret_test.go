package deploy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretsOf(t *testing.T) {
	args := []string{"vllm", "serve", "m", "--api-key", "sk-1", "--hf_token=hf-2", "--tokenizer", "m", "--token", "--verbose"}
	env := []Var{
		{Name: "OPEN", Value: "1"}, {Name: "KEY", Value: "abcd", Secret: true}, {Name: "LONG", Value: "abcdef", Secret: true},
		{Name: "PEM", Value: "-----BEGIN\nMIIEvAIBADAN\n}", Secret: true}, {Name: "EMPTY", Secret: true},
		{Name: "URL", Value: "https://u:abcdef@h"},
	}
	s := SecretsOf(args, env)
	want := []string{"vllm", "serve", "m", "--api-key", Masked, "--hf_token=" + Masked, "--tokenizer", "m", "--token", "--verbose"}
	if diff := cmp.Diff(want, s.MaskAll(args)); diff != "" {
		t.Error(diff)
	}
	wantEnv := map[string]string{
		"OPEN": "1", "KEY": Masked, "LONG": Masked, "PEM": Masked, "EMPTY": Masked, "URL": "https://u:" + Masked + "@h",
	}
	if diff := cmp.Diff(wantEnv, s.MaskEnv(env)); diff != "" {
		t.Error(diff)
	}
	if got := s.Mask("x MIIEvAIBADAN } y"); got != "x *** } y" {
		t.Errorf("a line of a secret: %q", got)
	}
}

func secretsOf(values ...string) Secrets {
	var env []Var
	for _, v := range values {
		env = append(env, Var{Name: "S", Value: v, Secret: true})
	}
	return SecretsOf(nil, env)
}

// However it is cut, the redacted text is the same.
func FuzzRedactor(f *testing.F) {
	f.Add("key abcdabcdefg abcdab", "abcd", "abcdefg", uint(3))
	f.Add("aaaaaaaabb", "aaaab", "aabb", uint(1))
	f.Add("wxyz", "", "wxyz", uint(2))
	f.Fuzz(func(t *testing.T, text, a, b string, step uint) {
		if strings.ContainsAny(a+b, "\n*") {
			t.Skip() // lines of a secret and the mask itself
		}
		s := secretsOf(a, b)
		whole, pieces := &strings.Builder{}, &strings.Builder{}
		at := s.Redact(whole)
		_, _ = at.Write([]byte(text))
		_ = at.Flush()
		cut := s.Redact(pieces)
		size := int(step%7) + 1
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if got, err := cut.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
		}
		_ = cut.Flush()
		if whole.String() != pieces.String() {
			t.Errorf("whole %q, in pieces of %d %q", whole, size, pieces)
		}
		for _, v := range []string{a, b} {
			// What stood between two secrets may make one with the mask's stars only
			// if it has stars, which is skipped; across a mask nothing joins.
			for _, part := range strings.Split(whole.String(), Masked) {
				if len(v) >= shortestSecret && strings.Contains(part, v) {
					t.Errorf("%q is in %q", v, whole)
				}
			}
		}
	})
}

func TestRedactorHoldsNoMoreThanItMust(t *testing.T) {
	var out strings.Builder
	r := secretsOf("secret").Redact(&out)
	_, _ = r.Write([]byte("a line\nhalf a sec"))
	if out.String() != "a line\nhalf a " {
		t.Errorf("got %q", out.String())
	}
	_, _ = r.Write([]byte("ond\n"))
	if out.String() != "a line\nhalf a second\n" {
		t.Errorf("got %q", out.String())
	}
}
