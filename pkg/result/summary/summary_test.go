package summary

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/org/agentx-action/pkg/result/record"
)

func ptr[T any](v T) *T { return &v }

const sec = record.Stamp(1e9)

// request is a success: sent, first token, last token and end in seconds.
func request(sent, first, last, end float64, in, out, cached int64) record.Record {
	at := func(s float64) record.Stamp { return record.Stamp(math.Round(s * 1e9)) }
	return record.Record{
		Asked: record.Asked{Phase: record.PhaseProfiling, Kind: record.KindTurn, TraceID: "t", StreamID: "t", MaxTokens: int(out), RecordedOut: int(out),
			BlockSize: 64, Blocks: int(in) / 64, Messages: 2, TextTokens: int(in), Due: at(sent), Issued: at(sent)},
		Seen: record.Seen{Outcome: record.OK, Sent: at(sent), Headers: at(sent), FirstByte: at(first), FirstToken: at(first), LastToken: at(last), End: at(end), Chunks: int(out),
			Usage: &record.Usage{PromptTokens: &in, CompletionTokens: &out, CachedTokens: &cached}},
	}
}

func failed(sent, end float64) record.Record {
	r := request(sent, sent, sent, end, 0, 0, 0)
	r.Seen = record.Seen{Outcome: record.Failed, Sent: r.Seen.Sent, End: r.Seen.End, Error: &record.Error{Code: 500, Type: "http_status", Message: "x"}}
	return r
}

func figures(opt Options, records ...record.Record) *Figures {
	b := New(opt)
	for i := range records {
		records[i].Asked.Num = i
		b.Record(&records[i])
	}
	return b.Figures()
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) || math.IsNaN(got) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// TestRunByHand: two requests and a failure, worked out on paper.
//
//	A: sent 10, first 11, last 13, end 14; 128 in, 5 out, 64 cached
//	B: sent 12, first 12.5, last 16, end 16; 64 in, 8 out, 0 cached
//	F: sent 11, ends 12
func TestRunByHand(t *testing.T) {
	f := figures(Options{ProfilingStart: 10 * sec, DurationS: 8, GPUs: 2, SLOs: []SLO{{"time_to_first_token", 500}, {"output_token_throughput_per_user", 1}}},
		request(10, 11, 13, 14, 128, 5, 64), request(12, 12.5, 16, 16, 64, 8, 0), failed(11, 12))
	for key, want := range map[string]float64{
		"request_count": 2, "error_request_count": 1, "completed_request_count": 3, "request_error_rate": 100.0 / 3,
		"benchmark_duration": 6, "request_throughput": 2.0 / 6, "output_token_throughput": 13.0 / 6, "input_token_throughput": 192.0 / 6, "total_token_throughput": 205.0 / 6,
		"total_isl": 192, "total_osl": 13, "osl_mismatch_count": 0, "context_overflow_count": 0, "cancelled_request_count": 0,
		"overall_usage_prompt_cache_read_pct": 100 * 64.0 / 192, "total_usage_prompt_tokens": 192,
		"good_request_count": 1, "goodput": 1.0 / 6, "good_request_fraction": 1.0 / 3, "output_token_throughput_per_gpu": 13.0 / 12,
	} {
		near(t, key, f.Run[key].Value, want)
		if f.Run[key].Unit == "" {
			t.Errorf("%s has no unit", key)
		}
	}
	ttft := f.Metrics["time_to_first_token"]
	near(t, "TTFT avg", ttft.Avg, 750)
	near(t, "TTFT std", ttft.Std, 250)
	near(t, "TTFT p90", ttft.P90, 950)
	near(t, "ITL sum", f.Metrics["inter_token_latency"].Sum, 500+500)
	// 5 s of A and F and B overlap: 10–11: 1, 11–12: 2, 12–14: 2, 14–16: 1.
	near(t, "effective concurrency", f.Load.Curves["effective_concurrency"].Avg, (1+2+4+2)/6.0)
	// Prefill: A 10–11 at 128/s, B 12–12.5 at 128/s.
	near(t, "effective prefill", f.Load.Curves["effective_prefill_throughput"].Avg, 192.0/6)
	near(t, "active prefill", f.Load.Curves["active_prefill_throughput"].Avg, 128)
	near(t, "active decode", f.Load.Curves["active_decode_throughput"].Avg, 13.0/5) // 11–16
	near(t, "total", f.Load.Curves["effective_total_throughput"].Avg, 205.0/6)
	// Asked window 10–18: idle from 16 on.
	near(t, "requests in flight", f.Load.RequestsInFlight.Avg, 9.0/8)
	near(t, "requests in flight, window", f.Load.RequestsInFlight.Seconds, 8)
	near(t, "tokens in flight", f.Load.Curves["tokens_in_flight"].Avg, (128*1+133*3+64*0.5+72*3.5)/6)
	near(t, "coverage TTFT", f.Coverage.TTFTRatio, 2.5/8)
	near(t, "coverage ITL", f.Coverage.InterTokenLatencyRatio, 6.0/8)
	if len(f.Errors) != 1 || f.Errors[0].Count != 1 || f.Errors[0].Code != 500 {
		t.Errorf("errors %v", f.Errors)
	}
}

func TestAdjusted(t *testing.T) {
	var records []record.Record
	for i := range 9 {
		s := float64(i)
		records = append(records, request(1, 2+s, 20, 20, 64, 2, 0)) // TTFT 1..9 s
	}
	records = append(records, failed(1, 2))
	a := figures(Options{}, records...).Adjusted["adj_time_to_first_token"]
	// Ten samples: position 0.9·9 = 8.1 → the ninth; 0.95·9 = 8.55 → the failure.
	if a.Count != 10 || a.Failed != 1 || a.P90 == nil || *a.P90 != 9000 || a.P95 != nil || a.P99 != nil || *a.Min != 1000 || *a.P50 != 5000 {
		t.Errorf("%+v", a)
	}
	if got := figures(Options{}, records[:9]...).Adjusted; len(got) != 0 {
		t.Errorf("adjusted without failures: %v", got)
	}
}

// TestOnlySuccessesOfProfilingCount (spec/replay.md §4.11).
func TestOnlySuccessesOfProfilingCount(t *testing.T) {
	warm, over, cut := request(1, 1.5, 2, 2, 64, 4, 0), request(3, 4, 5, 5, 64, 4, 0), request(3, 4, 5, 5, 64, 4, 0)
	warm.Asked.Phase, over.Seen.Outcome, cut.Seen.Outcome = record.PhaseWarmup, record.Overflow, record.Censored
	f := figures(Options{}, warm, over, cut, request(10, 11, 13, 14, 128, 5, 64))
	if f.Metrics["request_latency"].Count != 1 || f.Metrics["request_latency"].Avg != 3000 || f.Run["total_osl"].Value != 5 {
		t.Errorf("metrics %+v", f.Metrics["request_latency"])
	}
	if f.Warmup["request_latency"].Count != 1 || f.Warmup["request_latency"].Avg != 1000 {
		t.Errorf("warm-up %+v", f.Warmup["request_latency"])
	}
	want := Requests{Total: 4, Warmup: Outcomes{OK: 1}, Profiling: Outcomes{OK: 1, Overflow: 1, Censored: 1}}
	if d := cmp.Diff(want, f.Requests); d != "" {
		t.Error(d)
	}
	if rate, ok := f.Requests.Profiling.ErrorRate(); rate != 0 || !ok {
		t.Errorf("error rate %v %v", rate, ok)
	}
	near(t, "overflow rate", f.Requests.Profiling.OverflowRate(), 0.5)
	ix := f.InferenceX.RequestAccounting
	if ix.RecordsTotal != 3 || ix.RecordsProfiled != 1 || ix.RecordsWarmupDropped != 1 || ix.RecordsErrorDropped != 1 || ix.RecordsDroppedTotal != 2 {
		t.Errorf("IX accounting %+v", ix)
	}
}

func TestBrokenRecordFails(t *testing.T) {
	bad := request(10, 9, 13, 14, 64, 4, 0) // first token before sending
	f := figures(Options{}, bad, request(10, 11, 13, 14, 64, 4, 0))
	if f.Requests.Broken != 1 || f.Requests.Profiling.Errors != 1 || f.Metrics["time_to_first_token"].Min < 0 || f.Metrics["time_to_first_token"].Count != 1 {
		t.Errorf("%+v %+v", f.Requests, f.Metrics["time_to_first_token"])
	}
}

func TestNothing(t *testing.T) {
	f := figures(Options{ProfilingStart: sec, DurationS: 10, GPUs: 1, SLOs: []SLO{{"request_latency", 1}}})
	if len(f.Metrics) != 0 || len(f.Adjusted) != 0 || f.Cache.Usage != nil || f.Slices != nil || f.InferenceX.Throughput.DurationSeconds != nil || f.InferenceX.Latency.TTFT != nil {
		t.Errorf("figures of nothing: %+v", f)
	}
	for _, key := range []string{"request_throughput", "total_isl", "request_error_rate", "goodput", "benchmark_duration"} {
		if v, ok := f.Run[key]; ok {
			t.Errorf("%s = %v of nothing", key, v)
		}
	}
}

// TestCacheByHand: rates are weighted by tokens, and the gap compares the same
// requests.
func TestCacheByHand(t *testing.T) {
	a, b, c := request(1, 2, 3, 3, 1000, 4, 900), request(1, 2, 3, 3, 100, 4, 0), request(1, 2, 3, 3, 128, 4, 0)
	a.Asked.Blocks, a.Asked.HitInstant, a.Asked.HitCausal, a.Asked.IdealEnded, a.Asked.IdealBegun = 15, 15, 14, 15, 15
	b.Asked.Blocks, b.Asked.HitInstant, b.Asked.IdealEnded, b.Asked.IdealBegun = 1, 1, 0, 1
	c.Asked.Blocks = 2
	c.Seen.Usage.CachedTokens = nil
	k := figures(Options{}, a, b, c).Cache
	near(t, "instant", k.TheoreticalInstant.Rate, 16.0/18)
	near(t, "causal", k.TheoreticalCausal.Rate, 14.0/18)
	near(t, "ideal ended", k.IdealEnded.Rate, 960.0/1228)
	near(t, "ideal begun", k.IdealBegun.Rate, (960+64)/1228.0)
	near(t, "usage", k.Usage.Rate, 900.0/1100)
	near(t, "gap", *k.Gap, (900-960)/1100.0)
	if k.Usage.Requests != 2 || k.IdealEnded.Requests != 3 {
		t.Errorf("requests %d %d", k.Usage.Requests, k.IdealEnded.Requests)
	}
}

func TestInferenceXByHand(t *testing.T) {
	f := figures(Options{GPUs: 4}, request(10, 11, 13, 14, 128, 5, 64), request(12, 12.5, 16, 16, 64, 8, 0), failed(0.5, 30))
	x := f.InferenceX
	near(t, "duration", *x.Throughput.DurationSeconds, 6)
	near(t, "output", x.Throughput.Output.TokensPerSecond, round5(13.0/6))
	near(t, "per GPU", x.Throughput.PerGPU.TotalTputTPS, round5(205.0/24))
	near(t, "ttft p50", x.Latency.TTFT.P50, 0.75)
	near(t, "itl", x.Latency.ITL.Mean, 0.5)
	near(t, "intvty p90 is 1/p90(itl)", x.Latency.Intvty.P90, 2)
	// E2EL/OSL: 3/5 = 0.6 and 4/8 = 0.5; p90 0.59.
	near(t, "e2e_norm p90", x.Latency.E2ENormIntvty.P90, round5(1/0.59))
	near(t, "e2e_norm mean", x.Latency.E2ENormIntvty.Mean, round5(1/0.55))
	near(t, "full itl", x.Latency.FullResponseITL.P95, 0.75*0.95+0.5*0.05)
	// Ends at 14 and 16: windows 14–15, 15–16, 16–17 with 1, 0, 1.
	if x.QPS.Samples != 3 || x.QPS.P50 != 1 || x.QPS.Mean != round5(2.0/3) {
		t.Errorf("qps %+v", x.QPS)
	}
	flat := x.Flat()
	near(t, "median_ttft", flat["median_ttft"], 0.75)
	near(t, "tput_per_gpu", flat["tput_per_gpu"], round5(205.0/24))
	near(t, "p90_intvty", flat["p90_intvty"], 2)
}

// TestInferenceXDropsZero: values not above 0 are dropped, so counts differ.
func TestInferenceXDropsZero(t *testing.T) {
	f := figures(Options{}, request(10, 10, 13, 14, 64, 5, 0), request(10, 11, 13, 14, 64, 5, 0))
	near(t, "ttft", f.InferenceX.Latency.TTFT.Mean, 1)
	if f.Metrics["time_to_first_token"].Count != 2 {
		t.Error("AIPerf's TTFT keeps the 0")
	}
}

func TestSessionsByHand(t *testing.T) {
	b := New(Options{ProfilingStart: 10 * sec, DurationS: 10})
	add := func(trace string, turn, depth int, wait record.Stamp, join bool) {
		r := request(12, 13, 14, 14, 640, 4, 320)
		r.Asked.TraceID, r.Asked.Turn, r.Asked.Depth, r.Asked.Join = trace, turn, depth, join
		r.Asked.IdealEnded = 8
		if wait > 0 {
			r.Asked.JoinSince = r.Asked.Issued - wait
		}
		b.Record(&r)
	}
	add("a", 0, 0, 0, false)
	add("a", 2, 0, sec, true)
	add("a", 3, 1, 0, true)
	add("b", 8, 0, 0, false)
	for _, tree := range []record.Tree{
		{TraceID: "a", Start: 5 * sec, End: 15 * sec, Whole: true, RecordedNs: 4e9, Why: record.TreeDrained, Children: 2, Joins: 2, PeakLive: 3},
		{TraceID: "b", Start: 12 * sec, Why: record.TreeCut, PeakLive: 1},
		{TraceID: "c", Start: 1 * sec, End: 3 * sec, Why: record.TreeDrained},
	} {
		b.Tree(&tree)
	}
	f := b.Figures()
	s := f.Sessions
	if s.Whole != 1 || s.Makespan.Avg != 10 || s.Stretch.Avg != 2.5 || s.FanOutPeak.Max != 3 || s.Children != 2 || s.Trees[record.TreeCut] != 1 {
		t.Errorf("sessions %+v", s)
	}
	if s.JoinWait.Count != 2 || s.JoinWait.Sum != 1000 {
		t.Errorf("join wait %+v", s.JoinWait)
	}
	near(t, "effective roots", *s.EffectiveRoots, 16.0/10)
	near(t, "largest share", *s.LargestShare, 0.75)
	var buckets [][3]int
	for _, k := range s.ByTurn {
		buckets = append(buckets, [3]int{k.From, k.To, k.Requests})
		near(t, "usage by turn", *k.UsageHitRate, 0.5)
		near(t, "ideal by turn", *k.IdealHitRate, 0.8)
	}
	if d := cmp.Diff([][3]int{{0, 0, 1}, {2, 3, 2}, {8, 15, 1}}, buckets); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Played{{"a", 1, 3}, {"b", 1, 1}, {"c", 1, 0}}, s.Played); d != "" {
		t.Error(d)
	}
	// Trees over 10–20: a 5 s, b 8 s, c none.
	near(t, "live trees", f.Load.LiveTrees.Avg, 1.3)
}

func TestTurnBuckets(t *testing.T) {
	var s sessionBuilder
	s.init()
	for turn, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 2, 4: 4, 7: 4, 8: 8, 15: 8, 16: 16, 1 << 30: 1 << 24} {
		r := request(1, 2, 3, 3, 64, 2, 0)
		r.Asked.Turn = turn
		s.buckets = nil
		s.init()
		s.record(&r, record.CountServer)
		i := slices.IndexFunc(s.buckets, func(b bucket) bool { return b.requests == 1 })
		if s.buckets[i].from != want {
			t.Errorf("turn %d falls into bucket %d, want %d", turn, s.buckets[i].from, want)
		}
	}
}

func TestClient(t *testing.T) {
	b := New(Options{ProfilingStart: 10 * sec})
	for i, share := range []float64{0.99, 0.5, 0.9, 0.86, 0.9, 0.85, 0.95} {
		s := record.Sample{At: record.Stamp(10+2*i) * sec, Phase: record.PhaseProfiling, CPUShare: ptr(share), HeapBytes: uint64(i)}
		if i == 0 {
			s.Phase = record.PhaseWarmup // doesn't count
		}
		b.Sample(&s)
	}
	c := b.Figures().Client
	if c.Samples != 6 || *c.HeapMaxBytes != 6 {
		t.Errorf("%+v", c)
	}
	near(t, "high", *c.CPUHighS, 6)
}

func TestTokens(t *testing.T) {
	a, b, e := request(1, 2, 3, 3, 1000, 10, 0), request(1, 2, 3, 3, 500, 10, 0), failed(1, 2)
	a.Asked.TextTokens, a.Asked.MarkTokens, a.Asked.Messages = 960, 12, 4
	b.Asked.TextTokens, b.Asked.MarkTokens, b.Asked.Messages, b.Asked.MaxTokens = 470, 12, 4, 100
	e.Asked.TextTokens, e.Asked.MaxTokens = 100, 7
	tok := figures(Options{TemplateConstant: ptr(3.0), TemplatePerMessage: ptr(5.0)}, a, b, e).Tokens
	near(t, "drift max", tok.Drift.Max, 5)
	near(t, "drift min", tok.Drift.Min, -5)
	near(t, "drift share", tok.DriftShare.Max, 0.01)
	if tok.OutputJudged != 2 || tok.OutputMismatch != 1 || tok.MissingUsage != 0 {
		t.Errorf("%+v", tok)
	}
	if d := cmp.Diff(Served{PromptMin: 1500, PromptMax: 1500 + 264, GenerationMin: 20, GenerationMax: 27}, tok.Served); d != "" {
		t.Error(d)
	}
	if got := figures(Options{}, a).Tokens.Drift; got != nil {
		t.Errorf("drift %+v without calibration", got)
	}
}

func TestSlices(t *testing.T) {
	f := figures(Options{ProfilingStart: 10 * sec, SliceS: 2}, request(10, 11, 13, 14, 128, 6, 64), request(12, 12.5, 16, 16, 64, 7, 0), failed(11, 12))
	want := []Slice{
		{StartS: 0, EndS: 2, Sent: 2, TokensIn: 128, TokensOut: 2, InFlight: 1.5, TTFTP50Ms: nil},
		{StartS: 2, EndS: 4, Sent: 1, Errors: 1, TokensIn: 64, TokensOut: 4 + 3, InFlight: 2},
		{StartS: 4, EndS: 6, Done: 2, TokensOut: 4, InFlight: 1, TTFTP50Ms: ptr(750.0), TTFTP90Ms: ptr(950.0), ITLP50Ms: ptr((400 + 3500.0/6) / 2)},
	}
	if d := cmp.Diff(want, f.Slices, cmpopts.EquateApprox(1e-9, 1e-9)); d != "" {
		t.Error(d)
	}
}

func TestParseSLOs(t *testing.T) {
	got, err := ParseSLOs("request_latency:2500 inter_token_latency:50.5")
	if err != nil || len(got) != 2 || got[1] != (SLO{"inter_token_latency", 50.5}) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"request_latency", "speed:5", "request_latency:fast", "request_latency:NaN"} {
		if _, err := ParseSLOs(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// TestPercentileProperty holds percentile against counting.
func TestPercentileProperty(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		values := make([]float64, 1+rnd.IntN(40))
		for i := range values {
			values[i] = float64(rnd.IntN(50))
		}
		s, ok := describe(slices.Clone(values), "ms")
		if !ok {
			t.Fatal("no stats")
		}
		slices.Sort(values)
		n := len(values)
		for q, got := range map[float64]float64{1: s.P1, 25: s.P25, 50: s.P50, 90: s.P90, 99: s.P99} {
			// Naively: weights of the two neighbours of the position.
			k := q * float64(n-1) / 100
			lo, hi := values[int(math.Floor(k))], values[int(math.Ceil(k))]
			want := lo + (hi-lo)*(k-math.Floor(k))
			near(t, "percentile", got, want)
		}
		if !slices.IsSorted([]float64{s.Min, s.P1, s.P5, s.P10, s.P25, s.P50, s.P75, s.P90, s.P95, s.P99, s.Max}) {
			t.Errorf("percentiles out of order: %+v", s)
		}
		near(t, "sum", s.Sum, s.Avg*float64(n))
	}
}

// TestOrderDoesNotMatter: records come in any order.
func TestOrderDoesNotMatter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	records := random(rnd, 300)
	a := figures(Options{DurationS: 100, ProfilingStart: sec, GPUs: 2}, slices.Clone(records)...)
	rnd.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	b := figures(Options{DurationS: 100, ProfilingStart: sec, GPUs: 2}, records...)
	if d := cmp.Diff(a, b, cmpopts.EquateApprox(1e-9, 1e-9)); d != "" {
		t.Error(d)
	}
}

// TestTotalsEqualSums: per-turn, per-slice and per-trace sums equal the totals.
func TestTotalsEqualSums(t *testing.T) {
	f := figures(Options{SliceS: 7}, random(rand.New(rand.NewPCG(7, 8)), 500)...)
	var turns, played, done, sent int
	var out, in float64
	for _, b := range f.Sessions.ByTurn {
		turns += b.Requests
	}
	for _, p := range f.Sessions.Played {
		played += p.Requests
	}
	for _, s := range f.Slices {
		done += s.Done
		sent += s.Sent
		out += s.TokensOut
		in += s.TokensIn
	}
	ok := f.Requests.Profiling.OK
	if turns != ok || played != ok || done != ok || sent != f.Requests.Profiling.Total() {
		t.Errorf("turns %d, played %d, done %d of %d; sent %d of %d", turns, played, done, ok, sent, f.Requests.Profiling.Total())
	}
	near(t, "output by slices", out, f.Run["total_osl"].Value)
	near(t, "input by slices", in, f.Run["total_isl"].Value)
	near(t, "prompt by usage", f.Cache.Usage.Total, f.Run["total_usage_prompt_tokens"].Value)
	c := f.Load.Curves
	near(t, "decode by curve", c["effective_decode_throughput"].Avg*c["effective_decode_throughput"].Seconds, f.Run["total_osl"].Value)
	near(t, "prefill by curve", c["effective_prefill_throughput"].Avg*c["effective_prefill_throughput"].Seconds, f.Run["total_isl"].Value)
}

func random(rnd *rand.Rand, n int) []record.Record {
	out := make([]record.Record, n)
	for i := range out {
		at := 1 + rnd.Float64()*100
		first := at + 0.01 + rnd.Float64()
		last := first + 0.1 + rnd.Float64()*3
		in := int64(64 + rnd.IntN(100000))
		out[i] = request(at, first, last, last+rnd.Float64()/10, in, int64(2+rnd.IntN(300)), rnd.Int64N(in))
		out[i].Asked.TraceID = string(rune('a' + rnd.IntN(20)))
		out[i].Asked.Turn = rnd.IntN(300)
		out[i].Asked.IdealEnded = rnd.IntN(out[i].Asked.Blocks + 1)
		if rnd.IntN(20) == 0 {
			out[i].Seen.Outcome = record.Failed
			out[i].Seen.Error = &record.Error{Code: 500, Type: "x", Message: "same"}
		}
	}
	return out
}

func TestPoolHistogram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	var p pool
	values := make([]float64, 0, exactSamples+1000)
	for range exactSamples + 1000 {
		v := int64(rnd.ExpFloat64() * 2e7)
		p.add(v)
		values = append(values, float64(v)/1e6)
	}
	got, ok := p.stats()
	want, _ := describe(values, "ms")
	if !ok || !got.Approximate || got.Count != want.Count || got.Min != want.Min || got.Max != want.Max {
		t.Fatalf("%+v", got)
	}
	for _, c := range [][2]float64{{got.Avg, want.Avg}, {got.Std, want.Std}, {got.Sum, want.Sum}} {
		if math.Abs(c[0]-c[1]) > 1e-6*c[1] {
			t.Errorf("moment %v, want %v", c[0], c[1])
		}
	}
	for _, c := range [][2]float64{{got.P1, want.P1}, {got.P50, want.P50}, {got.P99, want.P99}} {
		if math.Abs(c[0]-c[1]) > 2e-3*c[1] {
			t.Errorf("percentile %v, want %v", c[0], c[1])
		}
	}
}

func TestWeighProperty(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		steps := make([]step, 1+rnd.IntN(30))
		total := 0.0
		for i := range steps {
			steps[i] = step{float64(rnd.IntN(9)), float64(1 + rnd.IntN(100))}
			total += steps[i].ns
		}
		w, _ := weigh(slices.Clone(steps), "x")
		for q, got := range map[float64]float64{0.5: w.P50, 0.9: w.P90, 0.99: w.P99} {
			below, atOrBelow := 0.0, 0.0
			for _, s := range steps {
				if s.v < got {
					below += s.ns
				}
				if s.v <= got {
					atOrBelow += s.ns
				}
			}
			if atOrBelow < q*total-1e-6 || below >= q*total+1e-6 {
				t.Errorf("q%v = %v: %v below, %v at or below of %v", q, got, below, atOrBelow, total)
			}
		}
	}
}

func BenchmarkFigures100k(b *testing.B) {
	records := random(rand.New(rand.NewPCG(1, 1)), 100_000)
	for i := range records {
		gaps := make([]int64, 200)
		records[i].Seen.ChunkGapsNs = gaps
		records[i].Seen.Chunks = 201
		d, _ := records[i].Seen.LastToken.Sub(records[i].Seen.FirstToken)
		gaps[0] = int64(d)
	}
	b.ReportAllocs()
	for b.Loop() {
		s := New(Options{ProfilingStart: sec, DurationS: 3600, GPUs: 8})
		for i := range records {
			s.Record(&records[i])
		}
		s.Figures()
	}
}
