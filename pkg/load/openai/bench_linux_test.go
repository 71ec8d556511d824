package openai

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/agentx-action/pkg/result/record"
)

// The engine of the benchmarks is a process of its own: this test binary,
// started again with engineEnv set to "streams rate seconds". It accepts that
// many streams, says "ready", writes rate events a second over all of them, at
// random times, for so many seconds (rate 0: none, until its input closes), ends the
// streams, and prints the time of each write.
const engineEnv = "AGENTX_BENCH_ENGINE"

func TestMain(m *testing.M) {
	if plan := os.Getenv(engineEnv); plan != "" {
		var e benchEngine
		if _, err := fmt.Sscan(plan, &e.streams, &e.rate, &e.seconds); err != nil {
			panic(err)
		}
		e.serve()
		return
	}
	os.Exit(m.Run())
}

type benchEngine struct{ streams, rate, seconds int }

type benchStream struct {
	id     string
	conn   net.Conn
	writes []int64
}

func (e benchEngine) serve() {
	pin(0)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	var all []*benchStream
	for range e.streams {
		c, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			panic(err)
		}
		drain(r)
		_, _ = io.WriteString(c, wellAnswered)
		all = append(all, &benchStream{id: r.Header.Get("X-Request-ID"), conn: c})
	}
	fmt.Println("ready")
	if e.rate == 0 {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	e.pace(all)
	end := chunked(sse("[DONE]"))[len(wellAnswered):] + lastChunk
	for _, s := range all {
		_, _ = io.WriteString(s.conn, end)
	}
	out := bufio.NewWriter(os.Stdout)
	for _, s := range all {
		fmt.Fprintln(out, s.id, strings.Trim(fmt.Sprint(s.writes), "[]"))
	}
	out.Flush()
}

func (e benchEngine) pace(all []*benchStream) {
	if e.rate == 0 {
		return
	}
	event := []byte(chunked(sse(vllmChunk(" token")))[len(wellAnswered):])
	random := rand.New(rand.NewPCG(1, 2))
	next := monotonic()
	for i := range e.rate * e.seconds {
		next += int64(random.ExpFloat64() * 1e9 / float64(e.rate))
		if wait := next - monotonic(); wait > 200_000 {
			time.Sleep(time.Duration(wait - 150_000))
		}
		for monotonic() < next { // a timer is not exact enough
		}
		s := all[i%len(all)]
		s.writes = append(s.writes, monotonic())
		if _, err := s.conn.Write(event); err != nil {
			panic(err)
		}
	}
}

func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

// pin ties all threads of this process to one core and returns the way back.
func pin(core int) (unpin func()) {
	var before, one unix.CPUSet
	_ = unix.SchedGetaffinity(0, &before)
	one.Set(core)
	procs := runtime.GOMAXPROCS(1)
	set := func(cpus *unix.CPUSet) {
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			if id, err := strconv.Atoi(task.Name()); err == nil {
				_ = unix.SchedSetaffinity(id, cpus)
			}
		}
	}
	set(&one)
	return func() { set(&before); runtime.GOMAXPROCS(procs) }
}

// startEngine starts the engine's process and returns its URL, its output and
// what ends it.
func startEngine(b *testing.B, plan string) (url string, out *bufio.Scanner, stop func()) {
	b.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), engineEnv+"="+plan)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	pipe, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	out = bufio.NewScanner(pipe)
	out.Buffer(nil, 64<<20)
	if !out.Scan() {
		b.Fatal("the engine did not start")
	}
	return out.Text(), out, func() { in.Close(); _ = command.Wait() }
}

// BenchmarkLoopbackStampDelay is the time from the engine's write to the
// client's stamp, with 10,000 events a second on 200 streams, at random times,
// engine and client pinned to a core each.
func BenchmarkLoopbackStampDelay(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("engine and client need a core each")
	}
	const streams = 200
	for b.Loop() {
		url, out, stop := startEngine(b, fmt.Sprint(streams, 10_000, 4))
		unpin := pin(1)
		clock := record.NewClock()
		offset := monotonic() - int64(clock.Now())
		c := newClient(b, Config{URL: url, Clock: clock})
		results := make([]record.Seen, streams)
		var all sync.WaitGroup
		for i := range streams {
			all.Go(func() {
				call := helloCall()
				call.RequestID = strconv.Itoa(i)
				results[i] = c.Do(context.Background(), call)
			})
		}
		all.Wait()
		unpin()
		delays := stampDelays(b, out, results, offset)
		stop()
		b.ReportMetric(float64(delays[len(delays)/2])/1e6, "p50-ms")
		b.ReportMetric(float64(delays[len(delays)*99/100])/1e6, "p99-ms")
		b.ReportMetric(float64(delays[len(delays)-1])/1e6, "max-ms")
		b.ReportMetric(float64(len(delays)), "events")
	}
}

func stampDelays(b *testing.B, out *bufio.Scanner, results []record.Seen, offset int64) (delays []int64) {
	for out.Scan() {
		fields := strings.Fields(out.Text())
		if fields[0] == "ready" {
			continue
		}
		i, _ := strconv.Atoi(fields[0])
		seen := results[i]
		if seen.Outcome != record.OK || seen.Chunks != len(fields)-1 {
			b.Fatalf("%d chunks of %d: %+v", seen.Chunks, len(fields)-1, seen.Error)
		}
		at := int64(seen.FirstToken) + offset
		for n, field := range fields[1:] {
			if n > 0 {
				at += seen.ChunkGapsNs[n-1]
			}
			written, _ := strconv.ParseInt(field, 10, 64)
			delays = append(delays, at-written)
		}
	}
	slices.Sort(delays)
	return delays
}

// BenchmarkWaitingStreams is what a stream costs that waits for its first
// token: all of the process' memory, and what of it is in use after a
// collection.
func BenchmarkWaitingStreams(b *testing.B) {
	const streams = 2000
	piece := []byte(strings.Repeat("word ", 10<<10)) // the text of prompts is shared
	for b.Loop() {
		url, out, stop := startEngine(b, fmt.Sprint(streams, 0, 0))
		c := newClient(b, Config{URL: url})
		ctx, cancel := context.WithCancelCause(context.Background())
		resident, live := memory()
		var all sync.WaitGroup
		for range streams {
			content := &pieces{[][]byte{piece, piece}, 2 * int64(len(piece))}
			all.Go(func() {
				if seen := c.Do(ctx, Call{Content: content, Model: "m", RequestID: "r", CorrelationID: "c"}); seen.Outcome != record.Censored {
					b.Errorf("%+v", seen.Error)
				}
			})
		}
		if !out.Scan() || out.Text() != "ready" {
			b.Fatal("the engine is not ready: ", out.Text())
		}
		time.Sleep(200 * time.Millisecond) // the headers are on their way
		nowResident, _ := memory()
		runtime.GC()
		_, nowLive := memory()
		b.ReportMetric(float64(nowResident-resident)/streams/1024, "resident-KiB/stream")
		b.ReportMetric(float64(nowLive-live)/streams/1024, "live-KiB/stream")
		cancel(ErrRunEnded)
		all.Wait()
		stop()
	}
}

// memory is the resident set, and heap and stacks in use, in bytes.
func memory() (resident, live int64) {
	statm, _ := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(statm))
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return pages * int64(os.Getpagesize()), int64(m.HeapAlloc + m.StackInuse)
}
