package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
	"github.com/org/agentx-action/pkg/run"
	"github.com/org/agentx-action/pkg/workload/corpus"
	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/trace"
)

// options turns the flags into a run's options. All that is wrong is reported at
// once.
func (f *replayFlags) options(c *console) (run.Options, error) {
	o := run.Options{
		Command: c.command, Scenario: f.Scenario, UnsafeOverride: f.UnsafeOverride,
		Source: run.Source{Paths: f.InputFile, Public: word(f.PublicDataset)},
		Corpus: corpus.Options{Basis: trace.Basis(strings.ToLower(f.NestedTimes)), MaxContextTokens: f.MaxContextLength, MaxOutputTokens: f.SynthesisMaxOSL},
		Models: f.ModelNames, Sampling: replay.Sampling(strings.ToLower(f.DatasetSamplingStrategy)), Burst: f.BurstPhaseStarts, MaxOSL: f.SynthesisMaxOSL,
		Marker: prompt.MarkerStyle(strings.ToLower(f.Marker)), Shape: prompt.Shape(strings.ReplaceAll(word(f.MessageShape), "_", "-")), ISL: prompt.ISLMode(strings.ToLower(f.ISL)),
		Counting: record.CountServer, MetricsURLs: f.ServerMetrics, NoMetrics: f.NoServerMetrics,
		GPUTelemetry: f.GPUTelemetry, NoGPUTelemetry: f.NoGPUTelemetry,
		Dir: f.OutputArtifactDir, Wait: seconds(f.WaitForModelTimeout), ResetCache: f.ResetKVCache, Stats: seconds(f.StatsInterval), Progress: c.err, Live: isTerminal(c.err),
	}
	c.will.bequeath(o.Dir)
	c.bequeathCorpus(o.Source)
	var errs errorList
	errs.add(f.refuse())
	errs.add(f.gates())
	errs.add(f.gatesOnRules())
	o.Settings = f.settings(&errs)
	if f.NumDatasetEntries != nil {
		o.Corpus.Entries = *f.NumDatasetEntries
	}
	if f.UseThinkTimeOnly {
		o.Delays = replay.DelaysThink
	}
	if f.UseServerTokenCount != nil && !*f.UseServerTokenCount {
		o.Counting = record.CountClient
	}
	if f.CacheBust != nil && word(*f.CacheBust) == "none" {
		o.Marker = prompt.MarkerNone
	}
	slos, err := summary.ParseSLOs(strings.Join(f.Goodput, " "))
	errs.add(err)
	o.SLOs = slos
	o.Client = f.client(&errs)
	errs.add(readEnvironment(&o, c.err))
	f.nameIgnored(c.err)
	if err := errs.join(); err != nil {
		return o, &run.UsageError{Err: err}
	}
	return o, nil
}

// refuse names flags whose values no run here accepts.
func (f *replayFlags) refuse() error {
	var errs errorList
	check := func(flag, value string, known ...string) { errs.add(oneOf(flag, value, known...)) }
	check("endpoint-type", f.EndpointType, "chat")
	check("dataset-sampling-strategy", f.DatasetSamplingStrategy, "sequential", "shuffle", "random")
	errs.add(f.serverFlags.refuse())
	if f.CustomDatasetType != "" {
		check("custom-dataset-type", f.CustomDatasetType, "weka-trace")
	}
	if f.CacheBust != nil {
		check("cache-bust", *f.CacheBust, "first-turn-prefix", "none")
	}
	if f.LanePlan != nil {
		check("lane-plan", *f.LanePlan, "shared", "seeded")
	}
	if len(f.InputFile) > 0 && f.PublicDataset != "" {
		errs.add(errors.New("--input-file and --public-dataset: give one of them"))
	}
	if f.UseDynamoConvAwareRouting {
		errs.add(errors.New("--use-dynamo-conv-aware-routing: newer Dynamo refuses it; give --x-dynamo-session-id"))
	}
	if f.Scenario == "" {
		errs.add(f.refuseOtherLoads())
	}
	if f.NumDatasetEntries != nil && *f.NumDatasetEntries < 1 {
		errs.add(errors.New("--num-dataset-entries: must be at least 1"))
	}
	check("nested-times", f.NestedTimes, "auto", "absolute", "relative")
	check("marker", f.Marker, "words", "aiperf", "none")
	check("isl", f.ISL, "content", "wire")
	check("message-shape", f.MessageShape, "roles", "merged", "single-user")
	if f.SynthesisMaxISL != nil && f.Scenario == "" {
		errs.add(errors.New("--synthesis-max-isl is not supported; give --max-context-length"))
	}
	return errs.join()
}

// refuseOtherLoads names the flags of other ways to time a load: recorded
// sessions have their own pace. A rule set refuses them by itself.
func (f *replayFlags) refuseOtherLoads() error {
	var errs errorList
	for _, o := range []struct {
		given bool
		flag  string
	}{
		{f.RequestRate != nil, "request-rate"}, {f.ArrivalPattern != nil, "arrival-pattern"},
		{f.UserCentricRate != nil, "user-centric-rate"}, {f.FixedSchedule != nil && *f.FixedSchedule, "fixed-schedule"},
	} {
		if o.given {
			errs.add(fmt.Errorf("--%s: recorded sessions set their own pace; drop the flag", o.flag))
		}
	}
	return errs.join()
}

func (f *serverFlags) refuse() error {
	var errs errorList
	if f.RequestTimeoutSeconds <= 0 {
		errs.add(errors.New("--request-timeout-seconds: must be above 0"))
	}
	errs.add(oneOf("connection-reuse-strategy", f.ConnectionReuseStrategy, "pooled", "never", "sticky-user-sessions"))
	if len(f.URL) > 1 {
		errs.add(errors.New("--url: one address only; put a router in front of several servers"))
	}
	return errs.join()
}

func oneOf(flag, value string, known ...string) error {
	for _, k := range known {
		if word(value) == word(k) {
			return nil
		}
	}
	return fmt.Errorf("--%s %s: must be one of %s", flag, value, strings.Join(known, ", "))
}

// word makes the spellings that AIPerf takes one.
func word(s string) string {
	s = strings.ToLower(s)
	return strings.Replace(strings.ReplaceAll(s, "-", "_"), "_256_k", "_256k", 1)
}

func (f *replayFlags) settings(errs *errorList) scenario.Settings {
	s := scenario.Settings{
		Streaming: f.Streaming, UseServerTokenCount: f.UseServerTokenCount,
		BenchmarkDurationS: f.BenchmarkDuration, BenchmarkGracePeriodS: f.BenchmarkGracePeriod, RandomSeed: f.RandomSeed,
		TrajectoryStartMinRatio: f.TrajectoryStartMinRatio, TrajectoryStartMaxRatio: f.TrajectoryStartMaxRatio,
		SystemIdleGapCapS: f.SystemIdleGapCapSeconds, TraceIdleGapCapS: f.TraceIdleGapCapSeconds,
		WarmupRequestsPerLane: f.WarmupRequestsPerLane, AgenticCacheWarmupDurationS: f.AgenticCacheWarmupDuration, WarmupGracePeriodS: f.WarmupGracePeriod,
		FailedRequestThreshold: f.FailedRequestThreshold, SliceDurationS: f.SliceDuration,
		CacheBust: f.CacheBust, History: f.History, LanePlan: f.LanePlan,
		RequestRate: f.RequestRate, ArrivalPattern: f.ArrivalPattern, UserCentricRate: f.UserCentricRate, FixedSchedule: f.FixedSchedule,
		IgnoreTraceDelays: f.IgnoreTraceDelays, SynthesisMaxISL: f.SynthesisMaxISL, InterTurnDelayCapS: f.InterTurnDelayCapSeconds,
	}
	for n := range strings.SplitSeq(f.Concurrency, ",") {
		if n == "" {
			continue
		}
		v, err := strconv.Atoi(strings.TrimSpace(n))
		if err != nil {
			errs.add(fmt.Errorf("--concurrency %s: must be a whole number", f.Concurrency))
			break
		}
		s.Concurrency = append(s.Concurrency, v)
	}
	extra, err := extraInputs(f.ExtraInputs)
	errs.add(err)
	if v, given := extra["ignore_eos"]; given {
		on := string(v) == "true"
		s.IgnoreEOS = &on
	}
	return s
}

func (f *serverFlags) client(errs *errorList) openai.Config {
	c := openai.Config{
		Endpoint: f.CustomEndpoint, APIKey: f.APIKey, Reuse: openai.ConnectionReuse(strings.ReplaceAll(f.ConnectionReuseStrategy, "_", "-")),
		LegacyMaxTokens: f.UseLegacyMaxTokens, PerChunkUsage: f.PerChunkUsage,
		Timeout: seconds(f.RequestTimeoutSeconds), RetryUnsent: f.RetryUnsent,
		SessionID: f.XSessionID, SMGRoutingKey: f.XSMGRoutingKey, DynamoSessionID: f.XDynamoSessionID, SessionHeader: f.SessionHeader, TreeHeader: f.TreeHeader,
	}
	if len(f.URL) > 0 {
		c.URL = f.URL[0]
	}
	if f.KeepAliveSeconds != nil {
		c.KeepAlive = seconds(*f.KeepAliveSeconds)
	}
	var err error
	c.Extra, err = extraInputs(f.ExtraInputs)
	errs.add(err)
	delete(c.Extra, "ignore_eos") // a setting of its own: the rule sets lock it
	for _, h := range f.Header {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			errs.add(errors.New("--header: want Name:Value"))
			continue
		}
		if c.Headers == nil {
			c.Headers = http.Header{}
		}
		c.Headers.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return c
}

// extraInputs reads key:value words and JSON objects. A value that is JSON is
// taken as such, anything else as a string.
func extraInputs(words []string) (map[string]jsontext.Value, error) {
	out := map[string]jsontext.Value{}
	for _, w := range words {
		if strings.HasPrefix(strings.TrimSpace(w), "{") {
			var object map[string]jsontext.Value
			if err := json.Unmarshal([]byte(w), &object); err != nil {
				return nil, fmt.Errorf("--extra-inputs: no valid JSON object: %w", err)
			}
			for k, v := range object {
				out[k] = v
			}
			continue
		}
		key, value, ok := strings.Cut(w, ":")
		if !ok || key == "" {
			return nil, fmt.Errorf("--extra-inputs %s: want key:value or a JSON object", w)
		}
		v := jsontext.Value(value)
		if lower := strings.ToLower(value); lower == "true" || lower == "false" {
			v = jsontext.Value(lower)
		}
		if !v.IsValid() {
			quoted, err := jsontext.AppendQuote(nil, value)
			if err != nil {
				return nil, fmt.Errorf("--extra-inputs %s: %w", key, err)
			}
			v = quoted
		}
		out[key] = v
	}
	return out, nil
}

// nameIgnored says which flags of AIPerf were given that change nothing here.
func (f *replayFlags) nameIgnored(w io.Writer) {
	g := &f.ignoredFlags
	for _, i := range []struct {
		given bool
		text  string
	}{
		{g.Tokenizer != nil || g.TokenizerRevision != nil || g.TokenizerTrustRemoteCode || g.ApplyChatTemplate,
			"--tokenizer… : prompts are made of words that are one token each; probes measure the drift"},
		{g.WorkersMax != nil || g.RecordProcessors != nil, "--workers-max, --record-processors: there is one process"},
		{g.UIType != nil, "--ui-type: progress is plain lines"},
		{g.ServerMetricsFormats != nil, "--server-metrics-formats: json and csv are always written"},
		{g.ExportLevel != nil, "--export-level: records are always written"},
		{g.DynamoSessionTimeoutSeconds != nil, "--dynamo-session-timeout-seconds: the session headers need none"},
		{g.LogLevel != nil || g.Verbose || g.ExtraVerbose, "--log-level, --verbose: there is one level"},
		{g.AutoPlot != nil, "--auto-plot: see the report"},
	} {
		if i.given {
			fmt.Fprintln(w, "note: without effect:", i.text)
		}
	}
}

// errorList collects errors, so that a user sees all of them at once.
type errorList []error

func (l *errorList) add(err error) {
	if err != nil {
		*l = append(*l, err)
	}
}

func (l errorList) join() error { return errors.Join(l...) }
