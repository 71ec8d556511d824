package table

import (
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
	"github.com/org/agentx-action/pkg/result/validity"
)

func ptr[T any](v T) *T { return &v }

// around is a distribution about a middle value.
func around(middle float64, n int) summary.Stats {
	return summary.Stats{
		Count: n, Avg: 1.1 * middle, Min: 0.1 * middle, P50: middle, P75: 1.3 * middle,
		P90: 2 * middle, P95: 3 * middle, P99: 7.77 * middle, Max: 12.5 * middle,
	}
}

func aroundPtr(middle float64, n int) *summary.Stats { return ptr(around(middle, n)) }

// fullDocument has everything that is shown, with text of others that does its
// worst.
func fullDocument() *result.Document {
	d := &result.Document{
		Mode:     result.ModeAgentic,
		Scenario: result.Scenario{Name: "inferencex-agentx-mvp", Version: "1"},
		Settings: result.Settings{Concurrency: 32, DurationS: ptr(1800.0), Seed: ptr(int64(42)), Model: "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8"},
		Corpus:   &result.Corpus{Name: "cc-traces-weka|062126", Traces: 393, Kept: 391},
		Engine: result.EngineFacts{
			Name: "vllm", Version: "0.14.1", URL: "http://127.0.0.1:8000",
			Profiling: &result.Counters{
				RunningMean: ptr(41.3), RunningMax: ptr(96.0), WaitingMean: ptr(0.0), WaitingMax: ptr(17.0),
				KVUsageMean: ptr(0.713), KVUsageMax: ptr(0.9996), Preemptions: ptr(3.0),
				AdmissionRejections: ptr(2.0), SpecAcceptanceLength: ptr(2.71), SpecAcceptanceRate: ptr(0.571),
			},
		},
		GPUs: &result.GPUs{Model: "H200", Count: 8},
		Power: &result.Power{
			Valid: 1, GPUs: 8, AvgPowerW: ptr(612.3), MaxPowerW: ptr(698.0), AvgTotalPowerW: ptr(4898.4), TotalEnergyJ: ptr(8_817_120.0),
			JoulesPerQuery: ptr(7536.0), JoulesPerInputToken: ptr(0.0812), JoulesPerOutputToken: ptr(12.4), JoulesPerTotalToken: ptr(0.0807),
		},
		Client: result.Client{
			ClientFacts: result.ClientFacts{Cores: ptr(16.0), IdleJumps: ptr(12), IdleRemoved: ptr(340.0)},
			Client: summary.Client{
				ScheduleLag: aroundPtr(0.21, 1170), ConnectionWait: aroundPtr(0.01, 1170),
				CPUShare: aroundPtr(0.06, 900), HeapMaxBytes: ptr(uint64(412_345_678)),
			},
		},
		Requests: summary.Requests{
			Total: 1270, Primers: 30, Retries: 1, Broken: 2,
			Warmup:    summary.Outcomes{OK: 62},
			Profiling: summary.Outcomes{OK: 1170, Errors: 13, Overflow: 4, Censored: 21},
		},
		Errors: []summary.ErrorGroup{
			{Code: 500, Type: "http_status", Message: "EngineCore | died\nTraceback:\r\n\tCUDA error \x1b[31m<b>@team</b>\x1b[0m", Count: 4},
			{Code: 502, Type: "stream", Message: "引擎内部错误：显存不足，请减少并发数或者缩短上下文长度，然后重新启动服务，再次尝试运行本次测试", Count: 3},
			{Type: "timeout", Message: "no answer within 21600 s", Count: 2},
			{Code: 400, Type: "bad`type`", Message: "see https://evil.example/x and www.evil.example ![x](y) \u202egnp.exe", Count: 2},
			{Code: 503, Type: "http_status", Message: longText(), Count: 1},
			{Code: 504, Type: "http_status", Message: "gateway", Count: 1},
		},
		Cache: result.CacheAccounting{
			Cache: summary.Cache{
				TheoreticalInstant: &summary.Share{Unit: "blocks", Hit: 1_999_382, Total: 2_100_631, Rate: 0.951801, Requests: 1170},
				TheoreticalCausal:  &summary.Share{Unit: "blocks", Hit: 1_998_653, Total: 2_100_631, Rate: 0.951454, Requests: 1170},
				IdealEnded:         &summary.Share{Unit: "tokens", Hit: 124_000_000, Total: 134_489_325, Rate: 0.922, Requests: 1170},
				IdealBegun:         &summary.Share{Unit: "tokens", Hit: 125_000_000, Total: 134_489_325, Rate: 0.92944, Requests: 1170},
				Usage:              &summary.Share{Unit: "tokens", Hit: 119_000_000, Total: 134_000_000, Rate: 0.88806, Requests: 1168},
				Gap:                ptr(-0.0334),
			},
			Engine: &result.EngineCache{
				Local:    &summary.Share{Unit: "tokens", Hit: 120_000_000, Total: 136_000_000, Rate: 0.88235},
				External: &summary.Share{Unit: "tokens", Hit: 1_000_000, Total: 16_000_000, Rate: 0.0625},
				BySource: map[string]float64{"local_compute": 0.11, "local_cache_hit": 0.8801, "external_kv_transfer": 0.0099},
			},
		},
		Tokens: summary.Tokens{
			Drift: aroundPtr(-1, 1170), DriftShare: aroundPtr(0.00002, 1170),
			OutputJudged: 1170, OutputMismatch: 3, MissingCached: 2,
		},
		Load: summary.Load{
			RequestsInFlight: &summary.Weighted{Avg: 40.7, P50: 38, P90: 66, Max: 97},
			LiveTrees:        &summary.Weighted{Avg: 31.98, P50: 32, P90: 32, Max: 32},
		},
		Sessions: summary.Sessions{
			Trees: map[record.TreeEnd]int{record.TreeDrained: 40, record.TreeCut: 31, record.TreeOverflow: 1, record.TreeFailed: 1},
			Whole: 9, Children: 66, Joins: 51,
			Makespan: aroundPtr(412.2, 9), Stretch: aroundPtr(1.31, 9), JoinWait: aroundPtr(2345, 51),
			FanOutPeak: aroundPtr(2, 73), ChildrenPerTree: aroundPtr(0.9, 73),
			ByTurn: []summary.TurnBucket{
				{From: 0, To: 0, Requests: 83, Root: 20, TTFT: aroundPtr(2400, 83), ISL: aroundPtr(21_000, 83), UsageHitRate: ptr(0.123), IdealHitRate: ptr(0.2)},
				{From: 1, To: 1, Requests: 70, Root: 11, TTFT: aroundPtr(400, 70), ISL: aroundPtr(31_000, 70), UsageHitRate: ptr(0.871), IdealHitRate: ptr(0.91)},
				{From: 2, To: 3, Requests: 12, Root: 12},
			},
			Played:         []summary.Played{{TraceID: "a", Trees: 3, Requests: 100}, {TraceID: "b", Trees: 1, Requests: 30}},
			EffectiveRoots: ptr(8.43), LargestShare: ptr(0.231),
		},
		Validity: validity.Verdict{
			SubmissionValid: ptr(false), SubmissionInvalidReasons: []string{validity.RunCancelled}, Findings: fullFindings(),
		},
		Outcome: result.Outcome{Cancelled: true, CancelledBy: "user", Error: "engine: connection refused\x07"},
	}
	d.Metrics = fullMetrics()
	return d
}

// fixedDocument is a run of the fixed-length baseline.
func fixedDocument() *result.Document {
	d := fullDocument()
	d.Mode, d.Corpus, d.Scenario = result.ModeFixed, nil, result.Scenario{}
	d.Settings = result.Settings{Concurrency: 32, Seed: ptr(int64(0)), Model: d.Settings.Model, FixedISL: ptr(8192), FixedOSL: ptr(1024)}
	d.Sessions, d.Outcome, d.Errors = summary.Sessions{}, result.Outcome{}, nil
	d.Load.LiveTrees, d.Load.RequestsInFlight = nil, &summary.Weighted{Avg: 30.1, P50: 32, P90: 32, Max: 32}
	d.Requests = summary.Requests{Total: 384, Warmup: summary.Outcomes{OK: 64}, Profiling: summary.Outcomes{OK: 320}}
	d.Validity = validity.Verdict{Trusted: true}
	figures := func(requests, seconds, middle float64) summary.FixedFigures {
		f := summary.FixedFigures{
			Raw: map[string]float64{"completed": requests, "duration": seconds, "total_input_tokens": 7373 * requests, "total_output_tokens": 922 * requests,
				"request_throughput": requests / seconds, "output_throughput": 922 * requests / seconds, "total_token_throughput": 8295 * requests / seconds},
			Aggregated: map[string]float64{"output_tput_per_gpu": 922 * requests / seconds / 8, "tput_per_gpu": 8295 * requests / seconds / 8, "std_intvty": 4321},
		}
		for q, by := range map[string]float64{"mean": 1.1, "median": 1, "std": 0.5, "p90": 2, "p99": 3, "p99.9": 4} {
			for key, of := range map[string]float64{"ttft": 40, "tpot": 1, "itl": 0.95, "e2el": 960} {
				f.Raw[q+"_"+key+"_ms"] = by * of * middle
			}
			if q != "std" {
				f.Aggregated[q+"_intvty"] = 1000 / (by * middle)
			}
		}
		return f
	}
	d.Fixed = &summary.Fixed{ISL: 8192, OSL: 1024, MaxConcurrency: 32, NumPrompts: 320, FixedFigures: figures(320, 100, 10),
		Steady: &summary.FixedSteady{FixedFigures: figures(288.5, 88, 9.5)}}
	return d
}

func longText() string {
	text := make([]byte, 0, 1<<20)
	for len(text) < 1<<20 {
		text = append(text, "all work and no play | \\"...)
	}
	return string(text)
}

func fullMetrics() result.Metrics {
	m := result.Metrics{Request: map[string]summary.Stats{}, Run: map[string]summary.Value{}}
	for key, middle := range map[string]float64{
		"time_to_first_token": 812, "inter_token_latency": 15, "request_latency": 12_345, "e2e_latency_per_output_token": 23.67,
		"input_sequence_length": 114_862, "output_sequence_length": 465,
		"http_req_blocked": 0.01, "http_req_dns_lookup": 0, "http_req_connecting": 0.2, "http_req_sending": 3.4,
		"http_req_waiting": 790, "http_req_receiving": 11_000, "http_req_total": 12_000,
		"http_req_data_sent": 512, "http_req_data_received": 77, "http_req_connection_reused": 0.9,
	} {
		m.Request[key] = around(middle, 1170)
	}
	gaps := around(14.9, 540_000)
	gaps.Approximate = true
	m.Request[record.ChunkGaps] = gaps
	for key, v := range map[string]float64{
		"request_count": 1170, "request_throughput": 0.6501, "good_request_count": 1001, "goodput": 0.5561,
		"total_isl": 134_489_325, "total_osl": 544_050, "benchmark_duration": 1799.6,
		"input_token_throughput": 74_733, "output_token_throughput": 302.3, "total_token_throughput": 75_035,
	} {
		m.Run[key] = summary.Value{Value: v}
	}
	m.Adjusted = map[string]summary.Adjusted{
		"adj_time_to_first_token": {Count: 1183, Failed: 13, P50: ptr(820.0), P90: ptr(1700.0), P95: ptr(2600.0)},
	}
	return m
}

func fullFindings() []validity.Finding {
	return []validity.Finding{
		{Code: validity.RunCancelled, Severity: validity.Invalid, Detail: "user", Text: "the run was cancelled before its time; run it again"},
		{Code: validity.ScheduleLag, Severity: validity.Untrusted, Figure: ptr(34.21), Limit: ptr(10.0), Unit: "ms",
			Text: "p99 of the time from due to sent: the client could not keep up; give it more cores or lower the concurrency"},
		{Code: validity.StartWindow, Severity: validity.Untrusted, Figure: ptr(0.25), Limit: ptr(0.0), Unit: "ratio", Detail: "0.25-0.75",
			Text: "traces were entered at 0.25–0.75 of their time, the rule set says 0–1; contexts and hit rates differ with it"},
		{Code: validity.ForeignGPUUsers, Severity: validity.Untrusted, Figure: ptr(2.0), Limit: ptr(0.0), Unit: "processes",
			Text: "others use the engine's GPUs: python|\x1b]0;gotcha\x07train.py, <script>; stop them or use another runner"},
		{Code: validity.ErrorRate, Severity: validity.Note, Figure: ptr(0.01099), Limit: ptr(0.01), Unit: "ratio",
			Text: "failed requests are in no latency; see the errors, and the adj_ metrics for what they would do to it"},
	}
}
