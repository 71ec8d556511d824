package config

import "testing"

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "model: m\nconcurrency: [1, 2]\n", "engine-env: {A: '${HF}'}\n", "url: $$\n", "cache-reset: true\n---\n", "a: &a [*a]\n", "? [a]\n: b\n",
		"mount:\n  - ./a:/b\n", "max-num-seqs: -0\n", "benchmark-grace-period: inf\n", "\"model\": |\n  x\n", "scenario: >-\n  a\n\n  b\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read("f", text, keys, env)
		if err != nil {
			if file != nil {
				t.Fatal("an error and a file")
			}
			return
		}
		for _, k := range keys {
			v, ok := file.Lookup(k.Name)
			switch {
			case !ok:
			case len(v.Text) != len(v.Raw):
				t.Fatalf("%s: %q and %q", k.Name, v.Text, v.Raw)
			case k.Kind != List && k.Kind != Map && len(v.Text) != 1:
				t.Fatalf("%s has %d values", k.Name, len(v.Text))
			case v.Line < 1:
				t.Fatalf("%s is on line %d", k.Name, v.Line)
			}
		}
	})
}
