// Router is a reverse proxy for tests: to the servers that a host name stands for,
// by session where a request names one, else in turn.
package main

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", ":8000", "address")
	backends := flag.String("backends", "engine:8000", "host and port; every address of the host is one server")
	n := flag.Int("n", 2, "servers to wait for")
	header := flag.String("header", "X-Session-ID", "session header")
	flag.Parse()
	if err := serve(*listen, *backends, *header, *n); err != nil {
		log.Fatal(err)
	}
}

func serve(listen, backends, header string, n int) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	host, port, err := net.SplitHostPort(backends)
	if err != nil {
		return err
	}
	var all []*httputil.ReverseProxy
	for range 100 {
		addresses, err := net.DefaultResolver.LookupHost(ctx, host)
		if err == nil && len(addresses) == n {
			slices.Sort(addresses)
			for _, a := range addresses {
				proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: net.JoinHostPort(a, port)})
				proxy.FlushInterval = -1
				all = append(all, proxy)
			}
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if len(all) != n {
		return fmt.Errorf("%s: not %d servers", host, n)
	}
	var turn atomic.Uint64
	server := &http.Server{Addr: listen, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			http.NotFound(w, r) // the servers have them
			return
		}
		// Else an answer that begins while the request's end is still read cuts itself off.
		_ = http.NewResponseController(w).EnableFullDuplex()
		i := turn.Add(1)
		if key := r.Header.Get(header); key != "" {
			h := fnv.New64a()
			_, _ = h.Write([]byte(key))
			i = h.Sum64()
		}
		all[i%uint64(len(all))].ServeHTTP(w, r)
	})}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	log.Printf("routing to %d servers", n)
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}
