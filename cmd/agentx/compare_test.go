package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/result/record"
)

// finished writes the folder of a run of 16 traces whose latencies are scaled.
func finished(t *testing.T, dir string, run uint64, scale float64, seed int64, fails bool) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, result.FileRecords))
	if err != nil {
		t.Fatal(err)
	}
	w := record.NewWriter[record.Record](f)
	work, noise := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(run, 2))
	for i := range 160 {
		ms := scale * 100 * math.Exp(0.3*work.NormFloat64()+0.01*noise.NormFloat64())
		n, prompt, cached := int64(50), int64(4000), int64(2000)
		sent := record.Stamp(1e9 + float64(i)*1e8)
		first := sent + record.Stamp(ms*1e6)
		r := record.Record{
			Asked: record.Asked{Num: i, Phase: record.PhaseProfiling, Kind: record.KindTurn, TraceID: fmt.Sprint("t", i%16), StreamID: fmt.Sprint("t", i%16), Turn: i / 16, Lane: i % 8},
			Seen: record.Seen{Outcome: record.OK, Sent: sent, FirstToken: first, LastToken: first + record.Stamp(ms*3e6), Chunks: 50,
				Usage: &record.Usage{PromptTokens: &prompt, CompletionTokens: &n, CachedTokens: &cached}},
		}
		r.Seen.End = r.Seen.LastToken
		if fails {
			r.Seen = record.Seen{Outcome: record.Failed, Sent: sent, End: sent + 1, Error: &record.Error{Code: 500, Type: "http_500"}}
		}
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := result.WriteFacts(dir, &result.Facts{
		RunID: fmt.Sprint("run-", run), Mode: result.ModeAgentic, OriginAt: at, StartedAt: at, EndedAt: at.Add(time.Minute), Program: result.Program{Name: "agentx", Version: "1"},
		Phases: []result.Phase{{Name: record.PhaseProfiling, Start: 1e9, End: 60e9}}, Settings: result.Settings{Seed: &seed, Counting: record.CountServer},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Finish(dir); err != nil {
		t.Fatal(err)
	}
}

func TestCompareVerb(t *testing.T) {
	t.Chdir(t.TempDir())
	repeats := []string{"a0", "a1", "a2", "a3", "a4", "a5"}
	for i, dir := range repeats {
		finished(t, dir, uint64(i), 1, 42, false)
	}
	finished(t, "slow", 20, 1.3, 42, false)
	finished(t, "other", 21, 1, 43, false)
	finished(t, "dead", 22, 1, 42, true)
	finished(t, "altered", 23, 1, 42, false)
	if err := os.WriteFile(filepath.Join("altered", result.FileAIPerfCSV), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	finished(t, "unfinished", 24, 1, 42, false)
	if err := os.Remove(filepath.Join("unfinished", result.FileManifest)); err != nil {
		t.Fatal(err)
	}
	aa := append([]string{"compare", "--aa", "--pool", "h200", "-o", "floor.json"}, repeats...)
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{aa, exitDone, "noise floor of h200 from 6 repeats", ""},
		{aa, exitDone, "error_rate                 ±0.00 points from run to run", ""},
		{[]string{"compare", "a0", "a1", "--floor", "floor.json"}, exitDone, "Verdict: NO CHANGE SEEN", ""},
		{[]string{"compare", "slow", "a1", "--floor", "floor.json"}, exitDone, "Verdict: REGRESSION", ""},
		{[]string{"compare", "slow", "a1", "--floor", "floor.json", "--fail-on", "regression"}, exitWorse, "Verdict: REGRESSION", "regression: TTFT p50 +"},
		{[]string{"compare", "a1", "slow", "--floor", "floor.json", "--fail-on", "regression"}, exitDone, "Verdict: IMPROVEMENT", ""},
		{[]string{"compare", "slow", "a1", "--fail-on", "regression"}, exitDone, "Verdict: CHANGED (ONE RUN A SIDE)", ""},
		{[]string{"compare", "--head", "a0", "--head", "a1", "--base", "a2", "--base", "a3"}, exitDone, "Verdict: NO CHANGE SEEN", ""},
		{[]string{"compare", "slow", "a1", "--floor", "floor.json", "--threshold", "ttft_p50=x"}, exitUsage, "", "--threshold ttft_p50=x"},
		{[]string{"compare", "other", "a1"}, exitUsage, "Refused: the sides differ in: seed", "the sides differ in seed"},
		{[]string{"compare", "other", "a1", "--allow-mismatch", "seed"}, exitDone, "seed", ""},
		{[]string{"compare", "dead", "a1"}, exitFailed, "", "Every one of the head's 160 requests failed"},
		{[]string{"compare", "a1", "dead"}, exitFailed, "", "Every one of the base's 160 requests failed"},
		{[]string{"compare", "a1"}, exitUsage, "", "HEAD BASE"},
		{[]string{"compare", "a1", "missing"}, exitUsage, "", "missing: no such folder"},
		{[]string{"compare", "unfinished", "a1"}, exitUsage, "", "unfinished: the run did not finish (no manifest.json"},
		{[]string{"compare", "a1", "unfinished"}, exitUsage, "", "unfinished: the run did not finish (no manifest.json"},
		{[]string{"compare", "a1", "a0", "--head-fixed", "a2"}, exitUsage, "", "a2 is no fixed-length run"},
		{[]string{"compare", "a1", "a0", "--base-fixed", "unfinished"}, exitUsage, "", "unfinished: the run did not finish"},
		// The folder of them all: no run of another seed, not the head, no dead one.
		{[]string{"compare", "slow", ".", "-o", "w.json"}, exitDone, "Base from ., the newest accepted first: a0, a1, a2, a3, a4.", ""},
		{[]string{"compare", "a0", ".", "-o", "w.json"}, exitDone, "1 run turned down: the head itself (a0).", ""},
		{[]string{"compare", "--head", "other", "--base", ".", "-o", "w.json"}, exitUsage, "", ". holds no run that can be the base: 8 runs turned down: differs from the head in seed; "},
		{[]string{"compare", "--head", "other", "--base", ".", "-o", "w.json", "--allow-mismatch", "seed"}, exitDone, "Base from ., the newest accepted first: a0, a1", ""},
		{[]string{"compare", "--aa", "a0", "a1"}, exitFailed, "", "at least 3"},
		{[]string{"validate", "slow"}, exitDone, "fits its schema", ""},
		{[]string{"compare", "altered", "a1"}, exitUsage, "", "altered is not as its run left it"},
		{[]string{"compare", "altered", "a1", "-o", "c.json"}, exitUsage, "", "altered is not as its run left it"},
		{[]string{"compare", "--head", "a0", "--head", "a0", "--base", "a1"}, exitFailed, "", "stands twice on one side"},
		{[]string{"compare", "--head", "a0", "--base", "a1", "--base", "a2", "--floor", "floor.json"}, exitDone, "The noise floor is left out", ""},
	} {
		var out, err bytes.Buffer
		code := Main(c.args, nil, &out, &err)
		if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(err.String(), c.err) {
			t.Errorf("%v: exit code %d, want %d\n%s%s", c.args, code, c.code, &out, &err)
		}
	}
	text, err := os.ReadFile(filepath.Join("slow", result.FileComparison))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := compare.Decode(text); err != nil || c.Head.Runs[0].RunID != "run-20" {
		t.Errorf("%v %+v", err, c)
	}
}
