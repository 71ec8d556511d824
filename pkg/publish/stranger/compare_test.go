package stranger

import (
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// Of an identity, keys that a run makes up and all values are told as what they are.
func TestCompareQuotes(t *testing.T) {
	side := func(name, model string) []*compare.Run {
		dir := artifacts(t)
		facts, err := result.ReadFacts(dir)
		check(t, err)
		facts.Settings.Model = model
		facts.ExtraIdentity = map[string]string{"env.it is " + name: "true", "env.PLAIN": "1"}
		check(t, result.WriteFacts(dir, facts))
		_, err = result.Finish(dir)
		check(t, err)
		r, err := compare.Load(dir)
		check(t, err)
		return []*compare.Run{r}
	}
	c, err := Compare(side("faster", "all is well"), side("slower", "sim"), compare.Options{})
	check(t, err)
	if c.Verdict != compare.Refused {
		t.Fatal(c.Verdict)
	}
	seen := map[string]compare.Mismatch{}
	for _, m := range c.Refused {
		seen[m.Key] = m
	}
	if _, ok := seen["env.“it is faster”"]; !ok {
		t.Errorf("%+v", c.Refused)
	}
	for key, m := range seen {
		if strings.Contains(key, "PLAIN") || strings.Contains(m.Head, "well") && !strings.HasPrefix(m.Head, "“") {
			t.Errorf("%s: %+v", key, m)
		}
	}
	for key, odd := range map[string]bool{"env.PLAIN": false, "env.it is": true, "concurrency": false, "engine_env.”": true} {
		if Odd(key) != odd {
			t.Errorf("%s: %v", key, !odd)
		}
	}
}
