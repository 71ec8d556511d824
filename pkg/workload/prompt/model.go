package prompt

import "github.com/org/agentx-action/pkg/workload/tree"

// Models maps the recorded models of a tree to the models asked for: the main
// model to the first, the others by first appearance, in turn (spec/replay.md §2.9).
func Models(t *tree.Tree, asked []string) map[string]string {
	to := map[string]string{}
	add := func(recorded string) {
		if _, ok := to[recorded]; !ok && len(asked) > 0 {
			to[recorded] = asked[len(to)%len(asked)]
		}
	}
	add(t.Root().Turns[0].Request.Model)
	for r := range t.Trace.All {
		add(r.Model)
	}
	return to
}

// MaxTokens is the output that a turn asks for: what was recorded, at least 1, and
// for main and flat streams at most maxOSL when that is above 0
// (spec/replay.md §2.9, decisions.md 8).
func MaxTokens(turn *tree.Turn, maxOSL int) int {
	out := turn.Request.Out
	if maxOSL > 0 && turn.Stream.Agent == nil {
		out = min(out, maxOSL)
	}
	return max(1, out)
}
