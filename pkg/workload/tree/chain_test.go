package tree

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// Most sessions here have one main time that is no whole second, so that the
// time resolution is a microsecond (decisions.md 6).

func TestChains(t *testing.T) {
	for _, c := range []struct{ name, session, want string }{
		{"a request that extends the tail goes on",
			`0.5 1-3
			 10  1-4
			 20  1-4
			 30  1-6`, "[0-3]"},
		{"the deepest tail is extended",
			`0.5 1-2 api=10
			 1   1-3 api=10
			 20  1-4`, "[0] fa:000[1-2]"},
		{"of equal tails the first is extended",
			`0.5 1-2 api=10
			 1   1-2 api=10
			 20  1-3`, "[0,2] aux:000[1]"},
		{"another model forks",
			`0.5 1-2
			 10  1-3 model=x
			 20  1-4
			 30  1-5 model=x`, "[0,2] fa:000[1,3]"},
		{"an overlap forks",
			`0.5 1-2 api=9.501
			 10  1-3
			 20  1-4`, "[0] fa:000[1-2]"},
		{"a touch does not",
			`0.5 1-2 api=9.5
			 10  1-3`, "[0-1]"},
		{"an overlap within a microsecond does not",
			`0.5 1-2 api=9.5000009
			 10  1-3`, "[0-1]"},
		{"whole seconds forgive an overlap of one",
			`0  1-2 api=11
			 10 1-3
			 20 1-4 api=12
			 30 1-5`, "[0-2] aux:000[3]"},
		{"without api_time a request ends at once",
			`0.5 1-2 api=-
			 0.6 1-3`, "[0-1]"},
		{"requests without ids stay in the main chain",
			`0.5 - model=x
			 10  1-3
			 20  - model=y api=100
			 30  1-4
			 40  9`, "[0-3] aux:000[4]"},
		{"only whole blocks count: the partial block's id is ignored",
			`0.5 1-3 in=140
			 10  1-2,7`, "[0-1]"},
		{"time decides, not the list",
			`10  1-4
			 0.5 1-3`, "[1,0]"},
		{"at one time the list decides",
			`0.5 1-3 api=0
			 0.5 1-4 api=0
			 0.5 1-5 api=0`, "[0-2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := streams(mustTree(t, session(t, c.session))); got != c.want {
				t.Errorf("streams %s; want %s", got, c.want)
			}
		})
	}
}

func TestForkSource(t *testing.T) {
	for _, c := range []struct {
		name, session         string
		depth, parent, source int
	}{
		{"the tail with the longest common prefix",
			`0.5 1-2 api=50
			 1   1-4 api=50
			 2   1-3,9 api=50`, 3, 1, 1},
		{"at a tie the deeper tail",
			`0.5 1-3 api=50
			 1   1-3,4 api=50
			 2   1-2,9 api=50`, 2, 1, 1},
		{"at a tie of both the first chain",
			`0.5 1-3 api=50
			 1   1-2,7 api=50
			 2   1-2,9 api=50`, 2, 0, 0},
		{"the tail of the time, not the first request",
			`0.5 1-3
			 5   1-4 api=50
			 6   1-2,9 api=50`, 2, 0, 1},
		{"without a common prefix there is no depth",
			`0.5 1-3 api=50
			 1   1-4 api=50
			 2   7-9 api=50`, 0, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := session(t, c.session)
			b := &build{tree: &Tree{Trace: tr}, left: maxCompared}
			var items []item
			for i, e := range tr.Entries {
				items = append(items, b.item(e.Request, i))
			}
			_, workers, _, err := b.detect("T", items)
			if err != nil {
				t.Fatal(err)
			}
			last := workers[len(workers)-1]
			if last.depth != c.depth || last.parent != c.parent || last.source != c.source {
				t.Errorf("depth %d, parent %d, source %d; want %d, %d, %d", last.depth, last.parent, last.source, c.depth, c.parent, c.source)
			}
		})
	}
}

func TestSeams(t *testing.T) {
	for _, c := range []struct{ name, session, want string }{
		{"a compaction is spliced, and what extends it follows",
			`0.5 1-10
			 10  1-11
			 20  1-3,20-21
			 30  1-3,20-22`, "[0-3]"},
		{"no block in common is no continuation",
			`0.5 1-10
			 10  20-30
			 20  1,20-30`, "[0,2] aux:000[1]"},
		{"a source that the chain went on from has not ended",
			`0.5 1-5
			 5   1-3,9
			 10  1-6`, "[0,2] aux:000[1]"},
		{"an overlap is no continuation",
			`0.5 1-10 api=10
			 10  1-3,20`, "[0] aux:000[1]"},
		{"another model is no continuation",
			`0.5 1-10
			 10  1-3,20 model=x`, "[0] aux:000[1]"},
		{"after exactly an hour a small rest is a continuation",
			`0.5 1-10 api=0.5
			 3601 1-4,20`, "[0-1]"},
		{"after more than an hour less than half is not",
			`0.5 1-10 api=0.5
			 3601.1 1-4,20`, "[0] aux:000[1]"},
		{"after more than an hour half is",
			`0.5 1-10 api=0.5
			 9999 1-5,20`, "[0-1]"},
		{"the deepest fork is elected",
			`0.5 1-10
			 10  1-3,20 api=90
			 11  1-4,30 api=90`, "[0,2] aux:000[1]"},
		{"at equal depth the earliest",
			`0.5 1-10
			 10  1-4,20 api=90
			 11  1-4,30 api=90`, "[0-1] aux:000[2]"},
		{"the other forks are tried behind the new tail",
			`0.5 1-10
			 10  1-4,20
			 20  1-4,30
			 30  1-4,40`, "[0-3]"},
		{"and again as long as they fit",
			`0.5 1-10
			 10  1-4,20
			 11  1-3,30 api=20
			 20  1-4,20-21
			 25  1-2,40 api=20
			 50  1-2,50`, "[0-1,3-5] aux:000[2]"},
		{"a seam in a side chain is mended too",
			`0.5 1-10 api=900
			 1   1,30-40
			 10  1,30-32,50
			 20  1,30-32,50-51`, "[0] fa:000[1-3]"},
		{"rows without ids keep their time",
			`0.5 1-10
			 10  1-3,20
			 15  -
			 20  1-3,20-21`, "[0-3]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := streams(mustTree(t, session(t, c.session))); got != c.want {
				t.Errorf("streams %s; want %s", got, c.want)
			}
		})
	}
}

func TestPreamble(t *testing.T) {
	const rest = `
		10  1-3 model=a out=1
		20  1-4 model=a
		20.5 1-2,9 model=a in=16384 out=1000` // no aux, unless the preamble counts for the main model or the peak
	for _, c := range []struct{ name, session, want string }{
		{"a short answer", "0.5 90-92 model=x out=64" + rest, "[0-2] fa:000[3]"},
		{"a long answer on blocks of its own", "0.5 90-92 model=x out=65" + rest, "[0-2] fa:000[3]"},
		{"a short answer on blocks that come again", "0.5 4 model=x out=64" + rest, "[0-2] fa:000[3]"},
		{"not a long answer on blocks that come again", "0.5 4 model=x out=65" + rest, "[0] fa:000[1-2] aux:001[3]"},
		{"not one that shares a beginning", "0.5 1,90 model=x out=1" + rest, "[0] fa:000[1-2] aux:001[3]"},
		{"not one without ids: that is in the main chain anyway", "0.5 - model=a out=1" + rest, "[0-2] fa:000[3]"},
		{"not the only request", "0.5 1-3 out=1", "[0]"},
		{"only the earliest", "0.5 90 out=1\n0.6 91 out=1" + rest, "[0-1] fa:000[2-3] aux:001[4]"},
		{"the earliest by time", "10.5 1-3\n20 1-4\n0 90 out=1", "[2,0-1]"},
		{"its size is not the peak", "0.5 90-93 in=200000 model=x out=1" + rest, "[0-2] fa:000[3]"},
		{"inside a subagent too", "0.5 1\nsub a 1 100\n> 1 90 model=x out=1\n> 10 50-53\n> 20 50-54\n> 20.5 50,99 in=16384 out=1000",
			"[0] sa:a[0-2] sa:a:fa:000[3]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := session(t, padded(c.session))
			if got := streams(mustTree(t, tr)); got != c.want {
				t.Errorf("streams %s; want %s", got, c.want)
			}
		})
	}
}

// padded gives a request whose in exceeds its ids the ids it lacks, from one
// million on: the reader wants them complete.
func padded(session string) string {
	var out []string
	fresh := 1_000_000
	for line := range strings.Lines(session) {
		fields := strings.Fields(line)
		for i, f := range fields {
			var in int
			if _, err := fmt.Sscanf(f, "in=%d", &in); err != nil || in < 640 {
				continue
			}
			at := 1
			if fields[0] == ">" {
				at = 2
			}
			have := count(fields[at])
			fields[at] += fmt.Sprintf(",%d-%d", fresh, fresh+in/64-have-1)
			fresh += in
			fields[i] = f
		}
		out = append(out, strings.Join(fields, " "))
	}
	return strings.Join(out, "\n")
}

func count(blocks string) int {
	n := 0
	for part := range strings.SplitSeq(blocks, ",") {
		var from, to int
		if _, err := fmt.Sscanf(part, "%d-%d", &from, &to); err == nil {
			n += to - from
		}
		n++
	}
	return n
}

// A trace whose requests have nothing in common costs bounded time.
func TestTooManyChainsAreRefused(t *testing.T) {
	b := &build{tree: &Tree{Trace: session(t, "0.5 1\n1 2\n2 3\n3 4")}, left: 2}
	var items []item
	for i, e := range b.tree.Trace.Entries {
		items = append(items, b.item(e.Request, i))
	}
	_, _, _, err := b.detect("T", items)
	var bad *trace.Error
	if !errors.As(err, &bad) || !strings.Contains(bad.Reason, "chains") || bad.Trace != "T" {
		t.Errorf("error %v; want one of the trace that names the chains", err)
	}
}
