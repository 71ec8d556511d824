package openai

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result/record"
)

// bubble runs a test in virtual time, with a client whose connections lead to
// serve through memory.
func bubble(t *testing.T, config Config, serve func(n int, c net.Conn, r *bufio.Reader), test func(t *testing.T, c *Client)) {
	synctest.Test(t, func(t *testing.T) {
		var connections int
		config.URL = "http://engine.test"
		config.Clock = record.NewClock()
		config.Dial = func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(3 * time.Millisecond)
			here, there := net.Pipe()
			n := connections
			connections++
			go func() {
				defer there.Close()
				serve(n, there, bufio.NewReader(there))
			}()
			return here, nil
		}
		c, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		test(t, c)
		c.Close()
	})
}

// say writes one chunk of an answer after a wait.
func say(c net.Conn, wait time.Duration, events ...string) {
	time.Sleep(wait)
	text := sse(events...)
	fmt.Fprintf(c, "%x\r\n%s\r\n", len(text), text)
}

func ms(s record.Stamp) float64 { return float64(s) / 1e6 }

func TestTimesToTheMillisecond(t *testing.T) {
	bubble(t, Config{}, func(_ int, c net.Conn, r *bufio.Reader) {
		for readRequest(r) == nil {
			time.Sleep(20 * time.Millisecond)
			_, _ = io.WriteString(c, wellAnswered)
			say(c, 100*time.Millisecond, roleEv)
			say(c, 400*time.Millisecond, `{"choices":[{"delta":{"reasoning":"hm"}}]}`)
			say(c, 30*time.Millisecond, eventA)
			say(c, 50*time.Millisecond, eventA, eventB)
			say(c, 10*time.Millisecond, usage7)
			say(c, 5*time.Millisecond, "[DONE]")
			time.Sleep(7 * time.Millisecond)
			_, _ = io.WriteString(c, lastChunk)
		}
	}, func(t *testing.T, c *Client) {
		for i, dial := range []float64{3, 0} {
			seen := c.Do(t.Context(), helloCall())
			expectOK(t, seen)
			at := func(s record.Stamp) float64 { return ms(s-seen.Sent) - dial }
			got := map[string]float64{
				"headers": at(seen.Headers), "first byte": at(seen.FirstByte), "first token": at(seen.FirstToken), "first output": at(seen.FirstOutput),
				"second": at(seen.SecondToken), "last": at(seen.LastToken), "end": at(seen.End),
				"blocked": ms(record.Stamp(*seen.HTTP.BlockedNs)), "connect": ms(record.Stamp(*seen.HTTP.ConnectNs)), "send": ms(record.Stamp(*seen.HTTP.SendNs)),
				"wait": ms(record.Stamp(*seen.HTTP.WaitNs)), "receive": ms(record.Stamp(*seen.HTTP.ReceiveNs)),
			}
			want := map[string]float64{
				"headers": 20, "first byte": 120, "first token": 520, "first output": 550, "second": 550, "last": 600, "end": 622,
				"blocked": 0, "connect": dial, "send": 0, "wait": 120, "receive": 495,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("request %d, ms (-want +got):\n%s", i, diff)
			}
			if diff := cmp.Diff([]int64{30e6, 50e6, 0}, seen.ChunkGapsNs); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		}
	})
}

// hang answers with some events and then neither goes on nor ends.
func hang(header bool, events ...string) func(int, net.Conn, *bufio.Reader) {
	return func(_ int, c net.Conn, r *bufio.Reader) {
		_ = readRequest(r)
		if header {
			_, _ = io.WriteString(c, wellAnswered)
		}
		for _, event := range events {
			say(c, 10*time.Millisecond, event)
		}
		_, _ = r.ReadByte() // until the client closes
	}
}

func TestHowARequestIsCutOff(t *testing.T) {
	for name, want := range map[string]struct {
		serve  func(int, net.Conn, *bufio.Reader)
		cancel func(context.Context) (context.Context, context.CancelFunc)
		class  string
		code   int
		after  time.Duration
		chunks int
	}{
		"timeout before the header": {hang(false), plainly, classTimeout, 0, time.Minute, 0},
		"timeout in the stream":     {hang(true, eventA, eventA), plainly, classTimeout, 0, time.Minute, 2},
		"the caller's deadline": {hang(true, eventA), func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 2*time.Second)
		}, classTimeout, 0, 2 * time.Second, 1},
		"the run ended":                   {hang(true, eventA), cancelled(ErrRunEnded), classRunEnded, 499, time.Second, 1},
		"the run ended before the header": {hang(false), cancelled(fmt.Errorf("grace: %w", ErrRunEnded)), classRunEnded, 499, time.Second, 0},
		"cancelled for some other reason": {hang(true, eventA), cancelled(errors.New("live abort")), classCancelled, 499, time.Second, 1},
		"stays open without [DONE]":       {hang(true, eventA, eventB), plainly, classTimeout, 0, time.Minute, 2},
		"a refusal whose body never comes": {func(_ int, c net.Conn, r *bufio.Reader) {
			_ = readRequest(r)
			_, _ = io.WriteString(c, "HTTP/1.1 429 Too Many\r\nContent-Length: 100\r\n\r\nslow down")
			_, _ = r.ReadByte()
		}, plainly, "http_429", 429, refusalTime, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Config{Timeout: time.Minute}, want.serve, func(t *testing.T, c *Client) {
				ctx, stop := want.cancel(t.Context())
				defer stop()
				seen := c.Do(ctx, helloCall())
				expectFailure(t, seen, want.class)
				if seen.Error.Code != want.code || seen.Chunks != want.chunks {
					t.Errorf("code %d, %d chunks; want %d, %d", seen.Error.Code, seen.Chunks, want.code, want.chunks)
				}
				// Connecting took 3 ms of the time.
				if took := time.Duration(seen.End - seen.Sent); took != want.after && took != want.after+3*time.Millisecond {
					t.Errorf("cut off after %v, want %v", took, want.after)
				}
			})
		})
	}
}

func plainly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func cancelled(cause error) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { cancel(cause) })
		return ctx, func() { cancel(nil) }
	}
}

func TestARunThatEndedSendsNothing(t *testing.T) {
	bubble(t, Config{}, func(int, net.Conn, *bufio.Reader) { t.Error("connected") }, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(ErrRunEnded)
		seen := c.Do(ctx, helloCall())
		expectFailure(t, seen, classRunEnded)
		if seen.Sent.Seen() || seen.End.Seen() {
			t.Errorf("sent %d end %d", seen.Sent, seen.End)
		}
	})
}

func TestAStreamNeedNotEndAfterDone(t *testing.T) {
	bubble(t, Config{}, hang(true, eventA, eventB, "[DONE]"), func(t *testing.T, c *Client) {
		began := time.Now()
		seen := c.Do(t.Context(), helloCall())
		expectOK(t, seen)
		if end := ms(seen.End - seen.Sent); end != 33 {
			t.Errorf("the stream ended after %v ms; [DONE] came after 33", end)
		}
		if waited := time.Since(began); waited != linger+33*time.Millisecond {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestIdleConnectionsAreLeftBeforeTheEngineClosesThem(t *testing.T) {
	for _, c := range []struct {
		keepAlive time.Duration
		idle      time.Duration
		reused    bool
	}{{0, 3900 * time.Millisecond, true}, {0, 4100 * time.Millisecond, false}, {time.Minute, 59 * time.Second, true}, {time.Minute, 61 * time.Second, false}} {
		bubble(t, Config{KeepAlive: c.keepAlive}, func(_ int, conn net.Conn, r *bufio.Reader) {
			for readRequest(r) == nil {
				answerWell(conn)
			}
		}, func(t *testing.T, client *Client) {
			expectOK(t, client.Do(t.Context(), helloCall()))
			time.Sleep(c.idle)
			seen := client.Do(t.Context(), helloCall())
			expectOK(t, seen)
			if *seen.HTTP.Reused != c.reused {
				t.Errorf("keep-alive %v, idle for %v: reused %v", c.keepAlive, c.idle, *seen.HTTP.Reused)
			}
		})
	}
}

func TestWaitingForACappedConnectionIsInTheLatency(t *testing.T) {
	bubble(t, Config{MaxConns: 1}, func(_ int, c net.Conn, r *bufio.Reader) {
		for readRequest(r) == nil {
			time.Sleep(time.Second)
			answerWell(c)
		}
	}, func(t *testing.T, c *Client) {
		results := make(chan record.Seen)
		for i := range 2 {
			go func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				results <- c.Do(t.Context(), helloCall())
			}()
		}
		first, second := <-results, <-results
		expectOK(t, first)
		expectOK(t, second)
		if wait := ms(record.Stamp(*second.HTTP.BlockedNs)); wait != 1002 {
			t.Errorf("blocked for %v ms, want 1002: 3 for the first one's dial, 1000 for its answer, 1 later", wait)
		}
		if first := ms(second.FirstToken - second.Sent); first != 2002 {
			t.Errorf("first token after %v ms", first)
		}
	})
}
