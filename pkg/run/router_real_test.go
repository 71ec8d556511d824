//go:build unix

package run

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// routersVariable names a folder with the programs of real routers, such as the
// bin of a Python environment with vllm-router and sglang-router installed.
const routersVariable = "AGENTX_TEST_ROUTERS"

// realCase is a real router, how it is started, and which headers are sent.
type realCase struct {
	name    string
	command []string // @1 and @2 are the replicas, @port and @metrics ports of its own
	client  func(*Options)
	// What must hold of streams and trees: "together", "apart" or "" for either.
	streams, trees string
}

func (c *realCase) options(o *Options) {
	if c.client != nil {
		c.client(o)
	}
}

var vllmRouter = []string{"vllm-router", "--port", "@port", "--prometheus-port", "@metrics", "--disable-retries", "--worker-urls", "@1", "@2", "--policy"}
var smg = []string{"sglang-router", "launch", "--host", "127.0.0.1", "--port", "@port", "--prometheus-port", "@metrics", "--disable-retries", "--worker-startup-check-interval", "1", "--worker-urls", "@1", "@2", "--policy"}

func with(command []string, policy ...string) []string {
	return append(command[:len(command):len(command)], policy...)
}

func sessionHeader(name string) func(*Options) {
	return func(o *Options) { o.Client.SessionHeader = name }
}

func treeHeader(name string) func(*Options) { return func(o *Options) { o.Client.TreeHeader = name } }

// realCases are the rows of docs/routers.md.
var realCases = []realCase{
	{name: "vllm-router round_robin", command: with(vllmRouter, "round_robin"), streams: "apart"},
	{name: "vllm-router consistent_hash, --x-session-id", command: with(vllmRouter, "consistent_hash"),
		client: func(o *Options) { o.Client.SessionID = true }, streams: "together"},
	{name: "vllm-router consistent_hash", command: with(vllmRouter, "consistent_hash"), streams: "together"},
	{name: "vllm-router consistent_hash, --tree-header X-Session-ID", command: with(vllmRouter, "consistent_hash"),
		client: treeHeader("X-Session-ID"), streams: "together", trees: "together"},
	{name: "vllm-router consistent_hash, --session-header X-Unknown", command: with(vllmRouter, "consistent_hash"),
		client: sessionHeader("X-Unknown"), streams: "apart"},
	{name: "vllm-router sticky_least_loaded, --x-session-id", command: with(vllmRouter, "sticky_least_loaded"),
		client: func(o *Options) { o.Client.SessionID = true }, streams: "together"},
	{name: "vllm-router cache_aware", command: with(vllmRouter, "cache_aware")},
	{name: "sglang-router round_robin", command: with(smg, "round_robin"), streams: "apart"},
	{name: "sglang-router manual, --x-smg-routing-key", command: with(smg, "manual"),
		client: func(o *Options) { o.Client.SMGRoutingKey = true }, streams: "together"},
	{name: "sglang-router manual, --tree-header X-SMG-Routing-Key", command: with(smg, "manual"),
		client: treeHeader("X-SMG-Routing-Key"), streams: "together", trees: "together"},
	{name: "sglang-router manual", command: with(smg, "manual"), streams: "apart"},
	{name: "sglang-router cache_aware", command: with(smg, "cache_aware")},
}

// TestRealRouters plays the sample corpus through real routers, in real time.
func TestRealRouters(t *testing.T) {
	bin := os.Getenv(routersVariable)
	if bin == "" {
		t.Skip(routersVariable + " names no folder with vllm-router and sglang-router (pip install them there)")
	}
	for _, c := range realCases {
		t.Run(c.name, func(t *testing.T) {
			r := c.play(t, bin)
			t.Logf("| %s | %d of %d | %d of %d | %v | %.4f | %.4f | %.4f |", c.name, r.split, r.streams, r.parted, r.trees, r.busy, r.ideal, r.usage, r.counted)
			for _, w := range []struct {
				what, want string
				split, all int
			}{{"streams", c.streams, r.split, r.streams}, {"trees", c.trees, r.parted, r.trees}} {
				if w.want == "together" && w.split > 0 || w.want == "apart" && w.split < w.all/3 {
					t.Errorf("%s: %d of %d were on both replicas, want them %s", w.what, w.split, w.all, w.want)
				}
			}
			if min(r.busy[0], r.busy[1]) < 10 {
				t.Errorf("requests by replica: %v", r.busy)
			}
		})
	}
}

func (c *realCase) play(t *testing.T, bin string) routed {
	replicas := newCluster(t, endless(), 2, "")
	words := []string{"@port", fmt.Sprint(freePort(t)), "@metrics", fmt.Sprint(freePort(t))}
	o := Options{
		Scenario: scenario.InferenceX, UnsafeOverride: true, Source: Source{Sample: true}, Counting: record.CountServer, Dir: t.TempDir(),
		Settings: scenario.Settings{Concurrency: []int{6}, RandomSeed: p(uint64(42)), TraceIdleGapCapS: p(1.0), BenchmarkDurationS: p(30.0)},
	}
	for i, replica := range replicas.replicas {
		server := httptest.NewServer(replica)
		t.Cleanup(func() { server.Close(); _ = replica.Close() })
		words = append(words, fmt.Sprintf("@%d", i+1), server.URL)
		o.MetricsURLs = append(o.MetricsURLs, server.URL+"/metrics")
	}
	o.Client.URL = "http://127.0.0.1:" + words[1]
	c.options(&o)
	startRouter(t, bin, c.command, strings.NewReplacer(words...), o.Client.URL)
	report, err := Replay(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return replicas.sum(t, report.Document, readLines[record.Record](t, filepath.Join(o.Dir, result.FileRecords)))
}

func startRouter(t *testing.T, bin string, command []string, words *strings.Replacer, url string) {
	t.Helper()
	args := make([]string, len(command))
	for i, a := range command {
		args[i] = words.Replace(a)
	}
	var log strings.Builder
	cmd := exec.Command(filepath.Join(bin, args[0]), args[1:]...)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			text := log.String()
			t.Log(text[max(0, len(text)-4000):])
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ; ; time.Sleep(200 * time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("the router does not answer")
		}
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/models", nil)
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
