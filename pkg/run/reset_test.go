package run

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/org/agentx-action/pkg/load/fixed"
	"github.com/org/agentx-action/pkg/result/validity"
)

// TestReplicasReset: behind a router each engine is asked and reset at its own
// address, and the whole is proven only when each is.
func TestReplicasReset(t *testing.T) {
	routerPage, err := os.ReadFile("../engine/scrape/testdata/vllm_router_0.1.17.txt")
	if err != nil {
		t.Fatal(err)
	}
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write(routerPage)
	})
	for _, c := range []struct {
		name   string
		lies   bool // the second replica says yes to a reset and does nothing
		o      func(*Options)
		proven bool
		says   string
	}{
		{"each by itself", false, func(*Options) {}, true, "http://replica-1: a prompt of 1024 words found"},
		{"beside the router's page", false, func(o *Options) { o.MetricsURLs = append(o.MetricsURLs, "http://page/metrics") }, true, "http://replica-0: a prompt of 1024 words found"},
		{"one lies", true, func(*Options) {}, false, "http://replica-1: the engine took the reset, but"},
		{"one has no page", false, func(o *Options) { o.MetricsURLs = append(o.MetricsURLs, "http://nobody/metrics") }, false, "no metrics page at http://nobody/metrics"},
		{"the router's page alone", false, func(o *Options) { o.MetricsURLs = []string{"http://page/metrics"} }, false, "only a router's metrics page is known"},
		{"no page at all", false, func(o *Options) { o.NoMetrics = true }, false, "found only now and then"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newCluster(t, endless(), 2, "")
				hosts := map[string]http.Handler{"page": page}
				if c.lies {
					hosts["replica-1"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path != "/reset_prefix_cache" {
							cluster.replicas[1].ServeHTTP(w, r)
						}
					})
				}
				o := Options{Dir: filepath.Join(t.TempDir(), "artifacts"), Fixed: small(fixed.Chat, 1, 2)}
				stop := cluster.serve(&o, hosts)
				defer stop()
				c.o(&o)
				reports, err := Fixed(t.Context(), o)
				if err != nil || len(reports) != 2 {
					t.Fatal(reports, err)
				}
				d := reports[1].Document // the engines have processed prompts before
				if says := d.Settings.Other["cache_reset"]; d.Engine.ColdStart.Reset != c.proven || !strings.Contains(says, c.says) {
					t.Errorf("reset %v: %s", d.Engine.ColdStart.Reset, says)
				}
				if c.proven && (d.Engine.PrefixCaching == nil || !*d.Engine.PrefixCaching) {
					t.Errorf("caching %v", d.Engine.PrefixCaching)
				}
				cold := true
				for _, f := range d.Validity.Findings {
					cold = cold && f.Code != validity.CacheNotCold && f.Code != validity.CacheStartUnknown
				}
				if cold != c.proven {
					t.Errorf("findings %+v", d.Validity.Findings)
				}
			})
		})
	}
}
