package run

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// cluster is replicas of the embedded engine behind a router.
type cluster struct {
	replicas []*sim.Server
	header   string // whose value chooses the replica; without one requests go round
	turn     atomic.Uint64

	mu sync.Mutex
	on map[string]int // replica by X-Request-ID
}

func newCluster(t *testing.T, cfg sim.Config, n int, header string) *cluster {
	c := &cluster{header: header, on: map[string]int{}}
	for i := range n {
		replica, err := sim.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		replica.OnServed = func(s sim.Served) { c.served(i, &s) }
		c.replicas = append(c.replicas, replica)
	}
	return c
}

func (c *cluster) served(replica int, s *sim.Served) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on[s.RequestID] = replica
}

// ServeHTTP is the router.
func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i := c.turn.Add(1)
	if key := r.Header.Get(c.header); key != "" && c.header != "" {
		h := fnv.New64a()
		_, _ = h.Write([]byte(key))
		i = h.Sum64()
	}
	c.replicas[i%uint64(len(c.replicas))].ServeHTTP(w, r)
}

// serve puts the cluster on a network of its own, where the router is at
// http://router and each replica at http://replica-N, whose metrics pages o names.
// Its pages are those of the replicas; further hosts may be given.
func (c *cluster) serve(o *Options, further map[string]http.Handler) (stop func()) {
	networks := map[string]*pipes{}
	var servers []*http.Server
	var serving sync.WaitGroup
	add := func(host string, h http.Handler) {
		network, server := newPipes(), &http.Server{Handler: h}
		networks[host+":80"], servers = network, append(servers, server)
		serving.Go(func() { _ = server.Serve(network) })
	}
	add("router", c)
	for i, replica := range c.replicas {
		host := fmt.Sprintf("replica-%d", i)
		if further[host] == nil {
			add(host, replica)
		}
		o.MetricsURLs = append(o.MetricsURLs, "http://"+host+"/metrics")
	}
	for host, h := range further {
		add(host, h)
	}
	o.Client.URL = "http://router"
	o.Client.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if networks[address] == nil {
			return nil, fmt.Errorf("no such host: %s", address)
		}
		return networks[address].dial(ctx, network, address)
	}
	return func() {
		for _, s := range servers {
			_ = s.Close()
		}
		serving.Wait()
		for _, r := range c.replicas {
			_ = r.Close()
		}
	}
}

// play replays through the router in virtual time, reading the metrics of each
// replica, not of the router, which has none.
func (c *cluster) play(t *testing.T, o Options) (*result.Document, []*record.Record) {
	stop := c.serve(&o, nil)
	o.Dir = t.TempDir()
	report, err := Replay(t.Context(), o)
	if err != nil {
		t.Error(err)
	}
	stop()
	wholeFolder(t, o.Dir)
	return report.Document, readLines[record.Record](t, filepath.Join(o.Dir, result.FileRecords))
}

// routed is how a run through a router came out.
type routed struct {
	doc            *result.Document
	streams, split int // streams of two turns and more, and those that met both replicas
	trees, parted  int // trees of two streams and more, and those that met both
	busy           [2]int
	ideal, usage   float64 // hit rates: as played, as the answers say
	counted        float64 // as the replicas' counters say
}

func route(t *testing.T, header string, client func(*Options)) (out routed) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, endless(), 2, header)
		o := Options{
			Scenario: scenario.InferenceX, UnsafeOverride: true, Source: Source{Sample: true},
			Settings: scenario.Settings{Concurrency: []int{4}, RandomSeed: p(uint64(42)), TraceIdleGapCapS: p(2.0), BenchmarkDurationS: p(60.0)},
		}
		client(&o)
		doc, records := c.play(t, o)
		out = c.sum(t, doc, records)
	})
	return out
}

func (c *cluster) sum(t *testing.T, doc *result.Document, records []*record.Record) routed {
	out := routed{doc: doc}
	streams, trees := map[string]*placed{}, map[string]*placed{}
	for _, r := range records {
		replica, ok := c.on[r.Asked.RequestID]
		if !ok {
			t.Errorf("no replica has seen request %s", r.Asked.RequestID)
			continue
		}
		out.busy[replica]++
		add := func(to map[string]*placed, key string, part string) {
			if to[key] == nil {
				to[key] = &placed{parts: map[string]bool{}}
			}
			to[key].parts[part], to[key].on[replica] = true, true
		}
		add(streams, r.Asked.CorrelationID, r.Asked.RequestID)
		add(trees, r.Asked.RootCorrelationID, r.Asked.CorrelationID)
	}
	out.streams, out.split = count(streams)
	out.trees, out.parted = count(trees)
	cache := &doc.Cache
	out.ideal, out.usage = cache.IdealEnded.Rate, cache.Usage.Rate
	out.counted = cache.Engine.Local.Rate
	return out
}

// placed says where the parts of something were: the requests of a stream, the
// streams of a tree.
type placed struct {
	parts map[string]bool
	on    [2]bool
}

// count is how many have two parts and more, and how many of them met both replicas.
func count(all map[string]*placed) (n, split int) {
	for _, p := range all {
		if len(p.parts) > 1 {
			n++
			if p.on[0] && p.on[1] {
				split++
			}
		}
	}
	return n, split
}

func (r *routed) String() string {
	return fmt.Sprintf("%d of %d streams and %d of %d trees on both replicas, %v requests each; hit rates: ideal as played %.4f, usage %.4f, counters %.4f",
		r.split, r.streams, r.parted, r.trees, r.busy, r.ideal, r.usage, r.counted)
}

// TestRouters is the benchmark against two replicas behind a router, which keeps
// streams together, keeps trees together, or neither.
func TestRouters(t *testing.T) {
	stream := route(t, "X-Session-ID", func(o *Options) { o.Client.SessionID = true })
	key := route(t, "X-SMG-Routing-Key", func(o *Options) { o.Client.SMGRoutingKey = true })
	tree := route(t, "X-Tree-ID", func(o *Options) { o.Client.TreeHeader = "X-Tree-ID" })
	round := route(t, "", func(*Options) {})
	for name, r := range map[string]*routed{"stream": &stream, "routing key": &key, "tree": &tree, "round": &round} {
		t.Logf("%s: %s", name, r)
		if r.streams < 30 || r.trees < 5 || min(r.busy[0], r.busy[1]) < 20 {
			t.Errorf("%s: too little was played to tell", name)
		}
		if e := &r.doc.Engine; e.Replicas == nil || *e.Replicas != 2 {
			t.Errorf("%s: the result says %v replicas", name, e.Replicas)
		}
		if d := r.counted - r.usage; d > 0.02 || d < -0.02 {
			t.Errorf("%s: the counters say %.4f, the answers %.4f", name, r.counted, r.usage)
		}
	}
	for name, r := range map[string]*routed{"X-Session-ID": &stream, "X-SMG-Routing-Key": &key, "X-Tree-ID (tree)": &tree} {
		if r.split > 0 {
			t.Errorf("%s: %d streams met both replicas", name, r.split)
		}
		if got := r.doc.Engine.SessionRouting; got != name {
			t.Errorf("the result says session routing %q, not %q", got, name)
		}
	}
	if got := round.doc.Engine.SessionRouting; got != "" {
		t.Errorf("the result says session routing %q where none was asked for", got)
	}
	if tree.split > 0 || tree.parted > 0 {
		t.Errorf("tree header: %s", &tree)
	}
	if stream.parted == 0 {
		t.Error("stream header: no tree met both replicas, so that nothing tells it from a tree header")
	}
	if round.split < round.streams/2 {
		t.Errorf("round robin kept streams together: %s", &round)
	}
	// The ideal is the client's and knows no replicas; what was found is judged
	// against it, and shows the routing.
	if gap := *tree.doc.Cache.Gap; gap < -0.02 {
		t.Errorf("tree header: %.4f below the ideal", -gap)
	}
	if gap := *stream.doc.Cache.Gap; gap < -0.04 {
		t.Errorf("stream header: %.4f below the ideal", -gap)
	}
	if gap := *round.doc.Cache.Gap; gap > -0.06 {
		t.Errorf("round robin: %.4f below the ideal; it ought to miss much more", -gap)
	}
}
