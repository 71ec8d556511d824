package prompt

import (
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
	"github.com/zeebo/xxh3"
)

var mark = NewMarker(MarkerWords, "run", 0, 3, "T")

// checkTokens reads a prompt and counts it with a decoder of its own.
func checkTokens(t *testing.T, m *Maker, p *Prompt, what string, in int) {
	t.Helper()
	length, plannedMessages := p.Len(), p.Messages()
	chats, raw := read(t, p)
	if int64(len(raw)) != length {
		t.Fatalf("%s: %d bytes; Len said %d", what, len(raw), length)
	}
	if len(chats) != plannedMessages || len(chats) == 0 {
		t.Fatalf("%s: %d messages; Messages said %d", what, len(chats), plannedMessages)
	}
	text := tokens(chats) - p.MarkerTokens()
	if text != p.TextTokens() {
		t.Fatalf("%s: %d tokens of text; TextTokens said %d", what, text, p.TextTokens())
	}
	want := in
	if m.ISL == ISLWire {
		text += p.MarkerTokens() + m.Overhead.Prompt
		for _, c := range chats {
			text += map[string]int{"system": m.Overhead.System, "user": m.Overhead.User, "assistant": m.Overhead.Assistant}[c.Role]
		}
		want += p.Short
		if single := slices.ContainsFunc(chats, func(c chat) bool { return words.Count(c.Content) == 1+p.MarkerTokens() || words.Count(c.Content) == 1 }); p.Short > 0 && !single {
			t.Fatalf("%s: %d of %d tokens could not be taken off, but every message has more", what, p.Short, in)
		}
	} else if p.Short != 0 {
		t.Fatalf("%s: Short is %d, but nothing is taken off", what, p.Short)
	}
	if text != want {
		t.Fatalf("%s: %d tokens; recorded were %d, short by %d", what, text, in, p.Short)
	}
	for i, c := range chats {
		if c.Content == "" || strings.TrimSpace(c.Content) != c.Content || strings.Contains(c.Content, "  ") {
			t.Fatalf("%s: message %d is empty or has stray white space: %.40q", what, i, c.Content)
		}
		if m.Shape == ShapeMerged && i > 0 && chats[i-1].Role == c.Role {
			t.Fatalf("%s: messages %d and %d are both the %s's", what, i-1, i, c.Role)
		}
	}
	if m.Shape == ShapeSingleUser && (len(chats) != 1 || chats[0].Role != "user") {
		t.Fatalf("%s: %d messages, the first the %s's; want one of the user's", what, len(chats), chats[0].Role)
	}
}

func eachMaker(yield func(*Maker)) {
	for _, shape := range []Shape{"", ShapeRoles, ShapeMerged, ShapeSingleUser} {
		for _, isl := range []ISLMode{"", ISLContent, ISLWire} {
			yield(maker(shape, isl))
		}
	}
}

func TestTokensAreExact(t *testing.T) {
	markers := []Marker{mark, {}, NewMarker(MarkerAIPerf, "run", 0, 3, "T")}
	for seed := range uint64(120) {
		tr := randomTrace(t, seed)
		plan := NewPlan(tr, stream(tr))
		eachMaker(func(m *Maker) {
			for k, turn := range plan.Stream.Turns {
				p := m.Prompt(tr, plan, k, markers[seed%3])
				checkTokens(t, m, p, fmt.Sprintf("%s turn %d, %s %s", tr.ID, k, m.Shape, m.ISL), turn.Request.In)
			}
		})
	}
}

func TestSampleTokensAreExact(t *testing.T) {
	left, turns := 2_500_000, 0 // tokens; all of the sample are 133 million
	for i, tr := range sampleTrees(t) {
		for _, s := range tr.Streams {
			plan := NewPlan(tr.Trace, s)
			for k := 0; k < len(s.Turns); k += 1 + len(s.Turns)/3 {
				m := maker(ShapeRoles, []ISLMode{ISLContent, ISLWire}[(i+k)%2])
				in := s.Turns[k].Request.In
				if left -= in; left < 0 {
					left += in
					continue
				}
				turns++
				checkTokens(t, m, m.Prompt(tr.Trace, plan, k, mark), fmt.Sprintf("%s turn %d", s.ID, k), in)
			}
		}
	}
	if turns < 30 {
		t.Errorf("only %d turns were read", turns)
	}
}

// In wire mode a prompt shorter than its overhead keeps one word and says so.
func TestShort(t *testing.T) {
	tr := record(t, "T", 0, 0, req{tail: 3})
	m := maker(ShapeRoles, ISLWire)
	p := m.Prompt(tr, NewPlan(tr, stream(tr)), 0, mark)
	if want := 7 + 5 + 12 - 2; p.Short != want || p.TextTokens() != 1 {
		t.Errorf("short by %d with %d tokens of text; want %d and 1", p.Short, p.TextTokens(), want)
	}
}

// The size of the reader's buffer shows nowhere.
func TestAnyBufferReadsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for seed := range uint64(40) {
		tr := randomTrace(t, seed)
		plan := NewPlan(tr, stream(tr))
		k := len(plan.Stream.Turns) - 1
		m := maker(ShapeRoles, []ISLMode{ISLContent, ISLWire}[seed%2])
		want := m.Prompt(tr, plan, k, mark)
		_, raw := read(t, want)

		p := m.Prompt(tr, plan, k, mark)
		if err := iotest.TestReader(p, []byte(raw)); err != nil {
			t.Fatal(err)
		}
		p = m.Prompt(tr, plan, k, mark)
		var got []byte
		for {
			buf := make([]byte, 1+rng.IntN(200))
			n, err := p.Read(buf)
			got = append(got, buf[:n]...)
			if err == io.EOF {
				break
			}
			if done := int64(len(got)) == p.Len(); done != (p.Digest() != "") {
				t.Fatalf("after %d of %d bytes the digest is %q", len(got), p.Len(), p.Digest())
			}
		}
		if string(got) != raw {
			t.Fatalf("%s: other bytes with other buffers", tr.ID)
		}
		if p.Digest() != want.Digest() {
			t.Fatalf("%s: another digest with other buffers", tr.ID)
		}
	}
}

// What a turn keeps of the one before, it repeats byte for byte.
func TestKeptMessagesNeverChange(t *testing.T) {
	kept := 0
	for seed := range uint64(300) {
		tr := randomTrace(t, seed)
		plan := NewPlan(tr, stream(tr))
		kept += checkKept(t, maker(ShapeRoles, []ISLMode{ISLContent, ISLWire}[seed%2]), tr, plan, len(plan.Stream.Turns))
	}
	if kept < 500 {
		t.Errorf("only %d messages were kept", kept)
	}
}

func TestSampleKeptMessagesNeverChange(t *testing.T) {
	kept := 0
	for _, tr := range sampleTrees(t)[:4] {
		kept += checkKept(t, maker(ShapeRoles, ISLWire), tr.Trace, NewPlan(tr.Trace, tr.Root()), min(7, len(tr.Root().Turns)))
	}
	if kept < 10 {
		t.Errorf("only %d messages were kept", kept)
	}
}

// checkKept compares every turn with the one before it and returns how many
// messages it kept.
func checkKept(t *testing.T, m *Maker, tr *trace.Trace, plan *Plan, turns int) (kept int) {
	t.Helper()
	var before []chat
	var beforeSegs []Segment
	marked := 0
	for k := range turns {
		p := m.Prompt(tr, plan, k, mark)
		chats, _ := read(t, p)
		segs := p.Segments
		if !slices.Equal(segs, mustSegments(plan, k)) || len(segs) != len(chats) {
			t.Fatalf("%s turn %d: %d messages of %d segments", plan.Stream.ID, k, len(chats), len(segs))
		}
		n, shared := 0, int32(0)
		if k > 0 {
			shared = int32(tr.Blocks.CommonPrefix(p.Path, m.Prompt(tr, plan, k-1, mark).Path))
		}
		for n < len(segs) && n < len(beforeSegs) && segs[n] == beforeSegs[n] && segs[n].End <= shared {
			n++
		}
		if k > 0 && !p.Reset && n < len(beforeSegs) {
			t.Fatalf("%s turn %d keeps %d of %d messages, but is no reset", plan.Stream.ID, k, n, len(beforeSegs))
		}
		if n == len(beforeSegs) && n > 0 && p.Reset { // the last one lost its tail
			n--
		}
		if moved := k > 0 && marked != p.marked; moved && !p.Reset {
			t.Fatalf("%s turn %d: the marker moves from message %d to %d, but it is no reset", plan.Stream.ID, k, marked, p.marked)
		} else if moved {
			n = min(n, marked, p.marked)
		}
		marked = p.marked
		for i := range n {
			if chats[i] != before[i] {
				t.Fatalf("%s turn %d, %s: message %d changed:\n%.80q\n%.80q", plan.Stream.ID, k, m.ISL, i, before[i].Content, chats[i].Content)
			}
			kept++
		}
		before, beforeSegs = chats, segs
	}
	return kept
}

func mustSegments(plan *Plan, k int) []Segment {
	segs, _, _ := plan.Segments(nil, k)
	return segs
}

// blockTexts maps each id of a turn to its words.
func blockTexts(t *testing.T, m *Maker, tr *trace.Trace, s *tree.Stream, k int, into map[int32]string) {
	t.Helper()
	p := m.Prompt(tr, NewPlan(tr, s), k, Marker{})
	chats, _ := read(t, p)
	var all []string
	for _, c := range chats {
		all = append(all, strings.Fields(c.Content)...)
	}
	for i, id := range tr.Blocks.IDs(nil, p.Path) {
		text := strings.Join(all[i*tr.BlockSize:(i+1)*tr.BlockSize], " ")
		if known, ok := into[id]; ok && known != text {
			t.Fatalf("block %d of %s is %.40q and %.40q", id, tr.ID, known, text)
		}
		into[id] = text
	}
}

// Equal ids are equal text wherever they stand, and other ids, traces and seeds
// are other text.
func TestBlocksAreTheirIDs(t *testing.T) {
	m := maker(ShapeRoles, ISLContent)
	for seed := range uint64(50) {
		tr := randomTrace(t, seed)
		texts := map[int32]string{}
		s := stream(tr)
		for k := range s.Turns {
			blockTexts(t, m, tr, s, k, texts)
		}
	}

	ids := span(1, 400)
	texts := func(m *Maker, id string) map[int32]string {
		tr := record(t, id, 0, 0, req{ids: ids})
		into := map[int32]string{}
		blockTexts(t, m, tr, stream(tr), 0, into)
		return into
	}
	a, again := texts(m, "A"), texts(m, "A")
	distinct := map[string]bool{}
	for id, text := range a {
		if again[id] != text {
			t.Fatalf("block %d differs between two plays", id)
		}
		distinct[text] = true
	}
	if len(distinct) < len(ids)-1 {
		t.Errorf("%d blocks have %d texts", len(ids), len(distinct))
	}
	for name, other := range map[string]map[int32]string{"another trace": texts(m, "B"), "another seed": texts(NewMaker(43), "A")} {
		equal := 0
		for id, text := range other {
			if text == a[id] {
				equal++
			}
		}
		if equal > 1 {
			t.Errorf("%s: %d of %d blocks are the same", name, equal, len(ids))
		}
	}
}

// spec/replay.md §3.3: the tail differs between streams and turns, not with the seed's blocks.
func TestTailsDiffer(t *testing.T) {
	m := maker(ShapeRoles, ISLContent)
	seen := map[string]string{}
	for _, id := range []string{"A", "B"} {
		tr := record(t, id, 0, 0, req{tail: 12}, req{tail: 12})
		plan := NewPlan(tr, stream(tr))
		for k := range 2 {
			chats, _ := read(t, m.Prompt(tr, plan, k, Marker{}))
			at := fmt.Sprintf("%s turn %d", id, k)
			if other, ok := seen[chats[0].Content]; ok {
				t.Errorf("%s and %s have one tail", at, other)
			}
			seen[chats[0].Content] = at
		}
	}
}

// Blocks and tails may be longer than is usual.
func TestLargeBlocksAndTails(t *testing.T) {
	m := maker(ShapeRoles, ISLContent)
	tail := record(t, "T", 0, 0, req{tail: words.Size + 17})
	p := m.Prompt(tail, NewPlan(tail, stream(tail)), 0, mark)
	checkTokens(t, m, p, "a tail longer than the text", words.Size+17)

	raw := fmt.Sprintf(`{"id":"T","block_size":%d,"hash_id_scope":"local","requests":[{"t":0,"type":"n","model":"m","in":%d,"out":1,"hash_ids":[0,2147483647]}]}`,
		tree.MaxBlockSize, 2*tree.MaxBlockSize+1-1)
	tr, err := trace.NewReader(strings.NewReader(raw), "T").Next()
	if err != nil {
		t.Fatal(err)
	}
	built, err := tree.New(tr)
	if err != nil {
		t.Fatal(err)
	}
	checkTokens(t, m, m.Prompt(tr, NewPlan(tr, built.Root()), 0, mark), "the largest blocks", 2*tree.MaxBlockSize)
}

// The digest is that of the bytes without the marker's.
func TestDigest(t *testing.T) {
	tr := randomTrace(t, 11)
	plan := NewPlan(tr, stream(tr))
	m := maker(ShapeRoles, ISLContent)
	digests := map[string]int{}
	for k := range plan.Stream.Turns {
		plain := m.Prompt(tr, plan, k, Marker{})
		if plain.Digest() != "" {
			t.Error("a digest before anything was read")
		}
		_, raw := read(t, plain)
		sum := xxh3.Hash128([]byte(raw)).Bytes()
		if want := hex.EncodeToString(sum[:]); plain.Digest() != want {
			t.Errorf("turn %d: digest %s; want %s", k, plain.Digest(), want)
		}
		for _, other := range []Marker{mark, NewMarker(MarkerWords, "other", 1, 4, "T"), NewMarker(MarkerAIPerf, "run", 0, 3, "T")} {
			p := m.Prompt(tr, plan, k, other)
			if _, marked := read(t, p); marked == raw {
				t.Errorf("turn %d: the marker changed nothing", k)
			}
			if p.Digest() != plain.Digest() {
				t.Errorf("turn %d: the marker changes the digest", k)
			}
		}
		digests[plain.Digest()]++
	}
	if len(digests) != len(plan.Stream.Turns) {
		t.Errorf("%d turns have %d digests", len(plan.Stream.Turns), len(digests))
	}
}

// Reading allocates nothing, and making a prompt no more for a long one.
func TestAllocationsDontGrow(t *testing.T) {
	m := maker(ShapeRoles, ISLContent)
	var perSize []float64
	for _, n := range []int{10, 10_000} {
		tr := record(t, "T", 0, 0, req{ids: span(1, n)})
		plan := NewPlan(tr, stream(tr))
		buf := make([]byte, 4096)
		perSize = append(perSize, testing.AllocsPerRun(5, func() {
			p := m.Prompt(tr, plan, 0, mark)
			for {
				if _, err := p.Read(buf); err != nil {
					return
				}
			}
		}))
	}
	if perSize[1] > perSize[0]+1 || perSize[1] > 12 { // the race detector may add one
		t.Errorf("%v allocations for 10 and for 10,000 blocks", perSize)
	}
}

func TestConcurrentPrompts(t *testing.T) {
	tr := randomTrace(t, 11)
	plan := NewPlan(tr, stream(tr))
	m := maker(ShapeRoles, ISLContent)
	_, want := read(t, m.Prompt(tr, plan, 1, mark))
	got := make(chan string)
	for range 8 {
		go func() {
			raw, _ := io.ReadAll(m.Prompt(tr, plan, 1, mark))
			got <- string(raw)
		}()
	}
	for range 8 {
		if <-got != want {
			t.Error("prompts made side by side differ")
		}
	}
}

// decisions.md 12: a message gives up its first words, and only as many as its
// own overhead; the first also what is constant.
func TestWireGivesUpFirstWords(t *testing.T) {
	tr := record(t, "T", 2*blockSize, 0, req{ids: span(1, 6), out: 20}, req{ids: span(1, 12)})
	plan := NewPlan(tr, stream(tr))
	content, _ := read(t, maker(ShapeRoles, ISLContent).Prompt(tr, plan, 1, Marker{}))
	wire, _ := read(t, maker(ShapeRoles, ISLWire).Prompt(tr, plan, 1, Marker{Tokens: 3}))
	for i, want := range []int{7 + 4 + 3, 5, 6, 5} {
		rest, ok := strings.CutSuffix(content[i].Content, " "+wire[i].Content)
		if !ok || words.Count(rest) != want {
			t.Errorf("message %d gave up %q; want its first %d words", i, rest, want)
		}
	}
}
