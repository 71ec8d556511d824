package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// driver runs a model in virtual time and checks its invariants on every step.
type driver struct {
	t     *testing.T
	m     *Model
	now   time.Duration
	done  map[uint64]*Done
	steps int
}

func drive(t *testing.T, cfg Config) *driver {
	t.Helper()
	m, err := NewModel(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &driver{t: t, m: m, done: map[uint64]*Done{}}
}

func (d *driver) submit(id uint64, prompt *Prompt, maxTokens int) {
	d.t.Helper()
	if err := d.m.Submit(d.now, Request{ID: id, Prompt: prompt, MaxTokens: maxTokens}); err != nil {
		d.t.Fatal(err)
	}
}

// step makes one step, or sleeps; false when the model is idle for good.
func (d *driver) step() bool {
	d.t.Helper()
	took, events := d.m.Step(d.now)
	d.steps++
	d.check()
	if took == 0 {
		wake, ok := d.m.NextWake()
		if ok && wake <= d.now {
			d.t.Fatalf("nothing to compute at %v, yet the next wake is %v", d.now, wake)
		}
		d.now = max(d.now, wake)
		return ok
	}
	d.now += took
	for _, event := range events {
		if event.Done != nil {
			done := *event.Done
			d.done[event.ID] = &done
		}
	}
	return true
}

func (d *driver) run() {
	d.t.Helper()
	for d.step() {
	}
}

// one runs a request alone.
func (d *driver) one(id uint64, prompt *Prompt, maxTokens int) *Done {
	d.t.Helper()
	d.submit(id, prompt, maxTokens)
	d.run()
	return d.done[id]
}

// check holds what must be true between any two steps.
func (d *driver) check() {
	d.t.Helper()
	p := d.m.pool
	if p.limit > 0 && (p.used > p.limit || len(p.blocks) > p.limit) {
		d.t.Fatalf("pool of %d blocks has %d, %d in use", p.limit, len(p.blocks), p.used)
	}
	refs := map[blockID]int32{}
	for _, seq := range d.m.live {
		if len(seq.blocks) < blocksFor(seq.computed, d.m.cfg.Cache.BlockSize) {
			d.t.Fatalf("sequence %d has computed %d tokens in %d blocks", seq.request.ID, seq.computed, len(seq.blocks))
		}
		for _, id := range seq.blocks {
			refs[id]++
		}
	}
	used := 0
	for id, b := range p.blocks {
		if b.refs != refs[blockID(id)] {
			d.t.Fatalf("block %d counts %d users, has %d", id, b.refs, refs[blockID(id)])
		}
		if b.refs > 0 {
			used++
		}
		if b.reusable && p.byHash[b.hash] != blockID(id) {
			d.t.Fatalf("block %d is not found under its hash", id)
		}
	}
	if used != p.used {
		d.t.Fatalf("pool counts %d blocks in use, has %d", p.used, used)
	}
	if d.m.host.used() > d.m.host.limit || d.m.disk.used() > d.m.disk.limit {
		d.t.Fatalf("lower tiers over their limit: %d of %d, %d of %d", d.m.host.used(), d.m.host.limit, d.m.disk.used(), d.m.disk.limit)
	}
	if len(d.m.running) > d.m.cfg.MaxNumSeqs {
		d.t.Fatalf("%d sequences run", len(d.m.running))
	}
	tokens := 0
	for _, c := range d.m.batch {
		tokens += c.n
	}
	if tokens > d.m.cfg.MaxNumBatchedTokens {
		d.t.Fatalf("a step of %d tokens", tokens)
	}
}

// promptOf makes a prompt of tokens that are numbers.
func promptOf(cfg Config, tokens ...uint64) *Prompt {
	p := NewPrompt(cfg.withDefaults().Cache.BlockSize)
	for _, token := range tokens {
		p.Add(mix(token))
	}
	return p
}

func upTo(n int) (tokens []uint64) {
	for i := range n {
		tokens = append(tokens, uint64(i))
	}
	return tokens
}

func TestFullHitLeavesOneToken(t *testing.T) {
	for _, c := range []struct{ tokens, cached int }{
		{1, 0}, {15, 0}, {16, 0}, {17, 16}, {32, 16}, {33, 32}, {100, 96}, {160, 144},
	} {
		d := drive(t, quiet())
		prompt := promptOf(quiet(), upTo(c.tokens)...)
		first, second := d.one(1, prompt, 1), d.one(2, prompt, 1)
		if first.Cached.Total() != 0 || second.Cached != (Cached{GPU: c.cached}) {
			t.Errorf("%d tokens: cached %v then %v, want 0 then %d", c.tokens, first.Cached, second.Cached, c.cached)
		}
	}
}

func TestGeneratedTokensEnterTheCache(t *testing.T) {
	d := drive(t, quiet())
	prompt := promptOf(quiet(), upTo(20)...)
	d.one(1, prompt, 30)
	// The next turn: the same, then the answer as text, then more.
	next := promptOf(quiet(), upTo(20)...)
	for i := range 30 {
		next.AddText(d.m.Word(prompt, i))
	}
	for i := range 50 {
		next.Add(uint64(i))
	}
	// 20 + 30 tokens, of which the last was never computed: 49, three blocks.
	if got := d.one(2, next, 1).Cached.GPU; got != 48 {
		t.Errorf("cached %d tokens, want 48", got)
	}
}

func TestHashCoversWhatStandsBefore(t *testing.T) {
	d := drive(t, quiet())
	d.one(1, promptOf(quiet(), upTo(64)...), 1)
	other := upTo(64)
	other[0] = 999
	if got := d.one(2, promptOf(quiet(), other...), 1).Cached.GPU; got != 0 {
		t.Errorf("cached %d tokens behind a different first token", got)
	}
	late := upTo(64)
	late[40] = 999
	if got := d.one(3, promptOf(quiet(), late...), 1).Cached.GPU; got != 32 {
		t.Errorf("cached %d tokens, want the 32 before the difference", got)
	}
}

func TestNoPrefixCaching(t *testing.T) {
	cfg := quiet()
	cfg.Cache.NoPrefixCaching = true
	cfg.Cache.HostGB = 1
	d := drive(t, cfg)
	prompt := promptOf(cfg, upTo(100)...)
	d.one(1, prompt, 20)
	if done := d.one(2, prompt, 20); done.Cached.Total() != 0 || done.Computed != 119 {
		t.Errorf("%+v", done)
	}
	if c := d.m.Counters(); c.ReusableBlocks != 0 || c.CacheQueries != 0 || c.PromptTokens != 200 {
		t.Errorf("%+v", c)
	}
}

func TestEvictionTakesTheLeastRecentlyUsed(t *testing.T) {
	cfg := quiet()
	cfg.MaxModelLen, cfg.Cache.GPUBlocks = 160, 10
	d := drive(t, cfg)
	prompt := func(first uint64) *Prompt {
		tokens := upTo(48)
		tokens[0] = first
		return promptOf(cfg, tokens...)
	}
	kept := func(first uint64) string {
		s := ""
		for _, hash := range prompt(first).blocks {
			if _, ok := d.m.pool.find(hash); ok {
				s += "+"
			} else {
				s += "-"
			}
		}
		return s
	}
	d.one(1, prompt(100), 1)
	d.one(2, prompt(200), 1)
	d.one(3, prompt(300), 1)
	d.one(4, prompt(100), 1) // uses the first two of 100's again, computes the third in the tenth block
	d.one(5, prompt(400), 1) // takes that one and the two unused for longest: the third of 100 and of 200
	d.one(6, prompt(500), 1) // takes the rest of 200, then the last of 300
	got := []string{kept(100), kept(200), kept(300), kept(400), kept(500)}
	if diff := cmp.Diff([]string{"++-", "---", "++-", "+++", "+++"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTimes(t *testing.T) {
	cfg := quiet()
	cfg.Cost = Cost{StepBaseMs: 10, PrefillUsPerToken: 100, PrefillNsPerPair: 1000, DecodeUsPerSeq: 500, KVReadNsPerToken: 2000}
	d := drive(t, cfg)
	done := d.one(1, promptOf(cfg, upTo(100)...), 3)
	// Prefill: 10 ms + 100 × 100 µs + 100 × 50.5 pairs × 1 µs.
	if got, want := done.FirstToken, 25050*time.Microsecond; got != want {
		t.Errorf("first token after %v, want %v", got, want)
	}
	// Decode with 100 and then 101 tokens of context: 10.5 ms + 2 µs each.
	if got, want := done.LastToken-done.FirstToken, 21402*time.Microsecond; got != want {
		t.Errorf("two more tokens after %v, want %v", got, want)
	}
}

func TestChunkingChangesNoToken(t *testing.T) {
	var want []Done
	for _, budget := range []int{100_000, 512, 100, 17, 1} {
		cfg := quiet()
		cfg.MaxNumBatchedTokens = budget
		d := drive(t, cfg)
		d.one(1, promptOf(cfg, upTo(300)...), 5)
		d.one(2, promptOf(cfg, upTo(400)...), 5)
		var got []Done
		for id := uint64(1); id <= 2; id++ {
			done := *d.done[id]
			done.Arrived, done.Admitted, done.FirstToken, done.LastToken, done.Ended = 0, 0, 0, 0, 0
			got = append(got, done)
		}
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("budget %d:\n%s", budget, diff)
		}
	}
}

func TestQueueIsFirstComeFirstServed(t *testing.T) {
	cfg := quiet()
	cfg.MaxNumSeqs = 2
	d := drive(t, cfg)
	for id := range uint64(5) {
		d.submit(id, promptOf(cfg, 1000*id), 4)
	}
	d.run()
	for id := uint64(1); id < 5; id++ {
		if d.done[id].Admitted < d.done[id-1].Admitted {
			t.Errorf("request %d was admitted before %d", id, id-1)
		}
	}
	if c := d.m.Counters(); c.PeakRunning != 2 || c.PeakWaiting != 5 {
		t.Errorf("peaks: %d running, %d waiting; want 2 and 5", c.PeakRunning, c.PeakWaiting)
	}
}

func TestPreemptionRecomputes(t *testing.T) {
	cfg := quiet()
	cfg.MaxModelLen, cfg.Cache.GPUBlocks = 160, 10
	d := drive(t, cfg)
	a, b := promptOf(cfg, upTo(60)...), promptOf(cfg, append([]uint64{7}, upTo(59)...)...)
	d.submit(1, a, 60)
	d.submit(2, b, 60)
	d.run()
	one, two := d.done[1], d.done[2]
	if one.Preemptions != 0 || two.Preemptions == 0 {
		t.Errorf("preemptions %d and %d; only the last admitted gives way", one.Preemptions, two.Preemptions)
	}
	if one.OutputTokens != 60 || two.OutputTokens != 60 {
		t.Errorf("output %d and %d tokens, want 60", one.OutputTokens, two.OutputTokens)
	}
	if c := d.m.Counters(); c.Preemptions != int64(two.Preemptions) || c.PromptTokens != 120 || c.UsedBlocks != 0 {
		t.Errorf("counters %+v", c)
	}
}

func TestLowerTiers(t *testing.T) {
	cfg := quiet()
	cfg.MaxModelLen, cfg.Cache.GPUBlocks = 160, 10
	cfg.Cache.KVBytesPerToken = 1_000_000 // a block is 16 MB
	cfg.Cache.HostGB, cfg.Cache.HostGBps = 0.016*4, 16
	cfg.Cache.DiskGB, cfg.Cache.DiskGBps = 0.016*8, 1.6
	d := drive(t, cfg)
	prompt := func(first uint64) *Prompt {
		tokens := upTo(96)
		tokens[0] = first
		return promptOf(cfg, tokens...)
	}
	d.one(1, prompt(100), 1) // 6 blocks
	d.one(2, prompt(200), 1) // 6 more: 2 of 100's go to the host
	if c := d.m.Counters(); c.HostBlocks != 2 || c.DiskBlocks != 0 {
		t.Fatalf("host %d, disk %d blocks; want 2 and 0", c.HostBlocks, c.DiskBlocks)
	}
	d.one(3, prompt(300), 1) // 4 of 100's and 2 of 200's follow: the host keeps 4, the disk gets 4
	if c := d.m.Counters(); c.HostBlocks != 4 || c.DiskBlocks != 4 {
		t.Fatalf("host %d, disk %d blocks; want 4 and 4", c.HostBlocks, c.DiskBlocks)
	}
	// Of 100's blocks, evicted from the last to the first, 5, 4, 3, 2 are on the
	// disk and 1, 0 on the host; the last is left to compute.
	start := d.now
	done := d.one(4, prompt(100), 1)
	if want := (Cached{Host: 32, Disk: 48}); done.Cached != want {
		t.Fatalf("cached %+v, want %+v", done.Cached, want)
	}
	// Three blocks at 10 ms from the disk, meanwhile two at 1 ms from the host;
	// then a step with 16 tokens.
	if got, want := done.FirstToken-start, 30*time.Millisecond+26*time.Millisecond; got != want {
		t.Errorf("first token after %v, want %v", got, want)
	}
	c := d.m.Counters()
	if c.HostHit != 32 || c.DiskHit != 48 || c.ExternalHits != 80 || c.LoadedBytes != 80_000_000 {
		t.Errorf("counters %+v", c)
	}
}

func TestCancelFreesBlocks(t *testing.T) {
	cfg := quiet()
	d := drive(t, cfg)
	d.submit(1, promptOf(cfg, upTo(100)...), 50)
	d.step()
	d.step()
	if d.m.Counters().UsedBlocks == 0 {
		t.Fatal("a running sequence holds no block")
	}
	done := d.m.Cancel(d.now, 1)
	if done == nil || done.Finish != FinishAbort || done.OutputTokens != 2 || done.Ended != d.now {
		t.Errorf("done %+v", done)
	}
	if c := d.m.Counters(); c.UsedBlocks != 0 || c.Running != 0 || c.Requests[FinishAbort] != 1 {
		t.Errorf("counters %+v", c)
	}
	if d.m.Cancel(d.now, 1) != nil {
		t.Error("a request was cancelled twice")
	}
	d.check()
}

func TestNoiseIsSeeded(t *testing.T) {
	times := func(seed uint64, noise Noise) string {
		cfg := quiet()
		cfg.Seed, cfg.Noise = seed, noise
		d := drive(t, cfg)
		done := d.one(1, promptOf(cfg, upTo(100)...), 10)
		return fmt.Sprint(done.FirstToken, done.LastToken)
	}
	noise := Noise{Run: 0.05, Step: 0.05}
	if first, again := times(1, noise), times(1, noise); first != again {
		t.Error("the same seed gave different times")
	}
	if times(1, noise) == times(2, noise) {
		t.Error("different seeds gave the same times")
	}
	if times(1, Noise{}) != times(2, Noise{}) {
		t.Error("without noise the seed changed the times")
	}
}

func TestSlowdowns(t *testing.T) {
	measure := func(f Faults) (ttft, itl time.Duration) {
		cfg := Config{Faults: f}
		d := drive(t, cfg)
		done := d.one(1, promptOf(cfg, upTo(8000)...), 2)
		return done.FirstToken, done.LastToken - done.FirstToken
	}
	ttft, itl := measure(Faults{})
	slowTTFT, sameITL := measure(Faults{PrefillSlowdown: 2})
	sameTTFT, slowITL := measure(Faults{DecodeSlowdown: 2})
	if r := float64(slowTTFT) / float64(ttft); r < 1.9 || r > 2 {
		t.Errorf("prefill ×2 made TTFT ×%.3f", r)
	}
	if sameITL != itl {
		t.Errorf("prefill ×2 made ITL %v, was %v", sameITL, itl)
	}
	if r := float64(slowITL) / float64(itl); r < 1.999 || r > 2.001 {
		t.Errorf("decode ×2 made ITL ×%.3f", r)
	}
	if r := float64(sameTTFT) / float64(ttft); r > 1.05 {
		t.Errorf("decode ×2 made TTFT ×%.3f", r)
	}
}

func TestEngineStall(t *testing.T) {
	cfg := quiet()
	cfg.Faults.EngineStallAtS, cfg.Faults.EngineStallMs = 0.120, 700
	d := drive(t, cfg)
	done := d.one(1, promptOf(cfg, upTo(100)...), 5) // steps at 0, 110, 120, 130, 140
	if got, want := done.LastToken, (150+700)*time.Millisecond; got != want {
		t.Errorf("last token at %v, want %v", got, want)
	}
}

// TestInvariants runs random loads against small engines: everything ends, what
// was cached and what was computed make up each prompt, and the pool holds.
func TestInvariants(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		cfg := Config{Seed: seed}
		cfg.MaxModelLen = 200
		cfg.Cache.BlockSize = 1 + random.IntN(16)
		if random.IntN(4) > 0 {
			cfg.Cache.GPUBlocks = 200/cfg.Cache.BlockSize + 1 + random.IntN(30)
		}
		cfg.MaxNumSeqs = 1 + random.IntN(8)
		cfg.MaxNumBatchedTokens = 1 + random.IntN(200)
		if random.IntN(2) > 0 {
			cfg.Cache.HostGB, cfg.Cache.DiskGB = 0.02*random.Float64(), 0.02*random.Float64()
			cfg.Cache.HostGBps, cfg.Cache.DiskGBps = 1, 0.1
		}
		cfg.Noise = Noise{Run: 0.1, Step: 0.1}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkRandomLoad(t, random, cfg) })
	}
}

func checkRandomLoad(t *testing.T, random *rand.Rand, cfg Config) {
	d := drive(t, cfg)
	const requests = 60
	cancelled := 0
	for id := range uint64(requests) {
		// Prompts share beginnings of one of three texts.
		tokens := upTo(1 + random.IntN(150))
		tokens[0] = uint64(random.IntN(3))
		if random.IntN(2) > 0 {
			tokens[random.IntN(len(tokens))] = 12345
		}
		d.submit(id, promptOf(cfg, tokens...), 1+random.IntN(50))
		for range random.IntN(20) {
			d.step()
		}
		if random.IntN(10) == 0 {
			if victim := uint64(random.IntN(int(id) + 1)); d.m.Cancel(d.now, victim) != nil {
				cancelled++
			}
			d.check()
		}
	}
	d.run()
	if len(d.done)+cancelled != requests || len(d.m.live) != 0 {
		t.Fatalf("%d requests ended, %d cancelled, %d live", len(d.done), cancelled, len(d.m.live))
	}
	c := d.m.Counters()
	if sum := c.LocalCompute + c.LocalCacheHit + c.HostHit + c.DiskHit; sum != c.PromptTokens {
		t.Errorf("sources add up to %d of %d prompt tokens", sum, c.PromptTokens)
	}
	for id, done := range d.done {
		if total := done.Cached.Total(); total >= done.PromptTokens || total%cfg.Cache.BlockSize != 0 {
			t.Errorf("request %d: %d of %d tokens cached", id, total, done.PromptTokens)
		}
		if sum := done.Cached.Total() + done.Computed; done.Preemptions == 0 && sum != done.PromptTokens+done.OutputTokens-1 {
			t.Errorf("request %d: %d tokens cached or computed of %d + %d − 1", id, sum, done.PromptTokens, done.OutputTokens)
		}
		if done.Arrived > done.Admitted || done.Admitted >= done.FirstToken || done.FirstToken > done.LastToken || done.LastToken != done.Ended {
			t.Errorf("request %d: times out of order: %+v", id, done)
		}
	}
	if c.UsedBlocks != 0 || c.Running != 0 || c.Waiting != 0 {
		t.Errorf("something was left: %+v", c)
	}
}

// TestUnlimitedPoolHitsAllSeen holds the hits against an independent account:
// the longest run of leading blocks that an earlier request computed.
func TestUnlimitedPoolHitsAllSeen(t *testing.T) {
	cfg := quiet()
	d := drive(t, cfg)
	random := rand.New(rand.NewPCG(7, 7))
	var seen [][]uint64
	for id := range uint64(200) {
		tokens := upTo(1 + random.IntN(300))
		if n := random.IntN(len(tokens)); id%3 > 0 {
			tokens[n] = 1000 + uint64(random.IntN(4))
		}
		best := 0
		for _, old := range seen {
			n := 0
			for n < len(old) && n < len(tokens) && old[n] == tokens[n] {
				n++
			}
			best = max(best, min(n, len(tokens)-1)/16*16)
		}
		seen = append(seen, tokens)
		if got := d.one(id, promptOf(cfg, tokens...), 1).Cached.GPU; got != best {
			t.Fatalf("request %d: %d tokens cached, want %d", id, got, best)
		}
	}
}

func TestSubmitRefuses(t *testing.T) {
	d := drive(t, Config{MaxModelLen: 100})
	for name, r := range map[string]Request{
		"no prompt":      {MaxTokens: 1},
		"empty prompt":   {Prompt: NewPrompt(16), MaxTokens: 1},
		"no output":      {Prompt: promptOf(Config{}, 1)},
		"too long":       {Prompt: promptOf(Config{}, upTo(100)...), MaxTokens: 1},
		"wrong blocks":   {Prompt: NewPrompt(8), MaxTokens: 1},
		"the same twice": {ID: 9, Prompt: promptOf(Config{}, 1), MaxTokens: 1},
	} {
		if r.ID == 9 {
			d.submit(9, promptOf(Config{}, 1), 1)
		}
		if err := d.m.Submit(0, r); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestResetCache(t *testing.T) {
	cfg := quiet()
	d := drive(t, cfg)
	prompt := promptOf(cfg, upTo(100)...)
	d.submit(1, prompt, 5)
	d.step()
	if d.m.ResetCache(true) {
		t.Error("the cache was reset under a running sequence")
	}
	d.run()
	if !d.m.ResetCache(true) || d.m.Counters().ReusableBlocks != 0 {
		t.Error("the idle cache was not reset")
	}
	if got := d.one(2, prompt, 1).Cached.Total(); got != 0 {
		t.Errorf("%d tokens cached after the reset", got)
	}
	d.check()
}

func ExampleModel() {
	// The model in virtual time: 10 ms a step, 1 ms a prompt token.
	m, err := NewModel(Config{Cost: Cost{StepBaseMs: 10, PrefillUsPerToken: 1000, PrefillNsPerPair: 1e-9, DecodeUsPerSeq: 1e-9, KVReadNsPerToken: 1e-9}})
	if err != nil {
		panic(err)
	}
	prompt := NewPrompt(16)
	prompt.AddText("func main return")
	if err := m.Submit(0, Request{ID: 1, Prompt: prompt, MaxTokens: 3}); err != nil {
		panic(err)
	}
	var now time.Duration
	for {
		took, events := m.Step(now)
		if took == 0 {
			break
		}
		now += took
		for _, event := range events {
			fmt.Println(now, event.ID, event.Output)
		}
	}
	// Output:
	// 13ms 1 1
	// 23ms 1 2
	// 33ms 1 3
}
