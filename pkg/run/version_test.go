package run

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/fixed"
)

// TestEngineVersion: it is read where the engine tells it, and is absent otherwise.
func TestEngineVersion(t *testing.T) {
	vllm, sglang := sim.Default(), sim.Default()
	vllm.Version, sglang.Version, sglang.Metrics = "0.32.0", "0.5.9", sim.SGLang
	vllm.MaxModelLen, vllm.ContextOverflow = 4096, sim.Cut
	without := func(answer string, pages ...string) func(http.Handler) http.Handler {
		return func(engine http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for _, page := range pages {
					if r.URL.Path == page && answer == "" {
						http.NotFound(w, r)
						return
					}
					if r.URL.Path == page {
						_, _ = fmt.Fprint(w, answer)
						return
					}
				}
				engine.ServeHTTP(w, r)
			})
		}
	}
	info := []string{"/version", "/server_info", "/get_server_info"}
	models := `{"object":"list","data":[{"id":"sim","object":"model","owned_by":"vllm"}]}`
	for _, c := range []struct {
		name          string
		cfg           sim.Config
		wrap          func(http.Handler) http.Handler
		noMetrics     bool
		engine, tells string
	}{
		{"vLLM", vllm, nil, false, "vllm", "0.32.0"},
		{"SGLang", sglang, nil, false, "sglang", "0.5.9"},
		{"older SGLang", sglang, without("", "/server_info"), false, "sglang", "0.5.9"},
		{"SGLang without metrics", sglang, without("", "/version"), true, "sglang", "0.5.9"},
		{"named by its models", vllm, without(models, "/v1/models"), true, "vllm", "0.32.0"},
		{"nobody knows", vllm, nil, true, "", "0.32.0"},
		{"tells nothing", vllm, without("", info...), false, "vllm", ""},
		{"a number", vllm, without(`{"version":5}`, info...), false, "vllm", ""},
		{"a page", vllm, without("<html>", info...), false, "vllm", ""},
		{"a bell", vllm, without("{\"version\":\"1\\u0007\"}", info...), false, "vllm", ""},
		{"a novel", vllm, without(`{"version":"`+strings.Repeat("1", 200)+`"}`, info...), false, "vllm", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEngine(t, c.cfg, c.wrap, func(t *testing.T, o Options) {
				o.Fixed, o.NoMetrics = small(fixed.Chat, 1), c.noMetrics
				reports, err := Fixed(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				d := reports[0].Document
				if d.Engine.Name != c.engine || d.Engine.Version != c.tells {
					t.Errorf("engine %q version %q", d.Engine.Name, d.Engine.Version)
				}
				if got, _ := d.Identity.Get("engine_version"); got != c.tells {
					t.Errorf("the identity says version %q", got)
				}
			})
		})
	}
}

// TestReplicasVersion: each engine behind a router is asked by itself.
func TestReplicasVersion(t *testing.T) {
	for _, c := range []struct {
		second http.Handler
		want   string
	}{
		{nil, "sim"},
		{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"version":"other"}`) }), "other, sim"},
		{http.NotFoundHandler(), ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			cluster := newCluster(t, endless(), 2, "")
			hosts := map[string]http.Handler{}
			if c.second != nil {
				hosts["replica-1"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.Contains(r.URL.Path, "version") || strings.Contains(r.URL.Path, "info") {
						c.second.ServeHTTP(w, r)
						return
					}
					cluster.replicas[1].ServeHTTP(w, r)
				})
			}
			o := Options{Dir: t.TempDir(), Fixed: small(fixed.Chat, 1)}
			stop := cluster.serve(&o, hosts)
			defer stop()
			reports, err := Fixed(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := reports[0].Document.Engine.Version; got != c.want {
				t.Errorf("version %q, want %q", got, c.want)
			}
		})
	}
}
