package sim

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

// strike runs one streamed request of 100 prompt and 10 output tokens against a
// server with faults.
func strike(t *testing.T, f Faults, check func(t *testing.T, b *bench, events []sseEvent, comments int, raw string, err error)) {
	t.Helper()
	cfg := quiet()
	cfg.Faults = f
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		response, err := b.post(t.Context(), "/v1/chat/completions", chatBody(92, 10, ""))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != 200 {
			t.Fatalf("status %d", response.StatusCode)
		}
		var raw strings.Builder
		events, comments, err := readEvents(io.TeeReader(response.Body, &raw))
		check(t, b, events, comments, raw.String(), err)
	})
}

// output sums up what a stream said.
type output struct {
	content, reasoning, arguments string
	chunks, empty, roleOnly       int
	finish                        string
	usage                         *usage
	done                          bool
}

func sum(t *testing.T, events []sseEvent) (o output) {
	t.Helper()
	for _, event := range events {
		if event.data == "[DONE]" {
			o.done = true
			continue
		}
		c := parseChunk(t, event.data)
		if c.Usage != nil {
			o.usage = c.Usage
		}
		for _, choice := range c.Choices {
			d := choice.Delta
			o.chunks++
			if d.Content+d.ReasoningContent+d.Reasoning == "" && len(d.ToolCalls) == 0 {
				if o.empty++; d.Role != "" {
					o.roleOnly++
				}
			}
			o.content += d.Content
			o.reasoning += d.ReasoningContent + d.Reasoning
			for _, call := range d.ToolCalls {
				o.arguments += call.Function.Arguments
			}
			if choice.FinishReason != nil {
				o.finish = *choice.FinishReason
			}
		}
	}
	return o
}

func TestNoFault(t *testing.T) {
	strike(t, Faults{}, func(t *testing.T, b *bench, events []sseEvent, comments int, _ string, err error) {
		o := sum(t, events)
		if err != nil || words.Count(o.content) != 10 || o.chunks != 10 || o.empty != 0 || o.finish != "length" || o.usage == nil || !o.done || comments != 0 {
			t.Errorf("%+v %v", o, err)
		}
		if served := b.lastServed(1); len(served.Faults) != 0 {
			t.Errorf("faults %v", served.Faults)
		}
	})
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		faults Faults
		name   string
		status int
	}{
		{Faults{RejectRate: 1}, "reject_rate", 400},
		{Faults{ErrorRate: 1}, "error_rate", 500},
	} {
		cfg := quiet()
		cfg.Faults = c.faults
		inBubble(t, cfg, func(t *testing.T, b *bench) {
			status, text := b.call("/v1/chat/completions", chatBody(92, 10, ""))
			if status != c.status || !strings.Contains(text, `"error":{"message"`) {
				t.Errorf("%s: %d %s", c.name, status, text)
			}
			served := b.lastServed(1)
			if served.Status != c.status || served.Done != nil || !slices.Equal(served.Faults, []string{c.name}) {
				t.Errorf("%s: served %+v", c.name, served)
			}
		})
	}
}

func TestGarbage(t *testing.T) {
	strike(t, Faults{GarbageRate: 1}, func(t *testing.T, _ *bench, events []sseEvent, _ int, _ string, err error) {
		if err != nil || len(events) != 1 || !strings.HasPrefix(events[0].data, "<html>") {
			t.Errorf("%v %v", events, err)
		}
	})
}

func TestMiddleOfStreamFaults(t *testing.T) {
	// The stream breaks off after 5 of 10 tokens, each in its way.
	const broken = "unexpected EOF"
	strike(t, Faults{DropRate: 1}, func(t *testing.T, b *bench, events []sseEvent, _ int, _ string, err error) {
		if err == nil || err.Error() != broken || len(events) != 5 {
			t.Errorf("drop: %d events, %v", len(events), err)
		}
		if served := b.lastServed(1); served.Done.Finish != FinishAbort || !slices.Equal(served.Faults, []string{"drop_rate"}) {
			t.Errorf("drop: served %+v", served)
		}
	})
	strike(t, Faults{TruncateRate: 1}, func(t *testing.T, _ *bench, events []sseEvent, _ int, _ string, err error) {
		if o := sum(t, events); err != nil || len(events) != 5 || o.finish != "" || o.done {
			t.Errorf("truncate: %d events, %v", len(events), err)
		}
	})
	strike(t, Faults{StreamErrorRate: 1}, func(t *testing.T, _ *bench, events []sseEvent, _ int, _ string, err error) {
		if err != nil || len(events) != 7 || !strings.HasPrefix(events[5].data, `{"error":{"message"`) || events[6].data != "[DONE]" {
			t.Errorf("stream error: %v, %v", events, err)
		}
	})
	strike(t, Faults{StallRate: 1, StallMs: 5000}, func(t *testing.T, _ *bench, events []sseEvent, _ int, _ string, err error) {
		if o := sum(t, events); err != nil || words.Count(o.content) != 10 || !o.done {
			t.Fatalf("stall: %+v, %v", o, err)
		}
		if gap := events[5].at.Sub(events[4].at); gap != 5010*time.Millisecond {
			t.Errorf("stall: a gap of %v", gap)
		}
	})
}

func TestHangs(t *testing.T) {
	for _, c := range []struct {
		faults Faults
		events int
	}{{Faults{HangHeadersRate: 1}, 0}, {Faults{HangStreamRate: 1}, 5}} {
		cfg := quiet()
		cfg.Faults = c.faults
		inBubble(t, cfg, func(t *testing.T, b *bench) {
			b.client.Timeout = time.Hour
			start := time.Now()
			response, err := b.post(t.Context(), "/v1/chat/completions", chatBody(92, 10, ""))
			got := 0
			if err == nil {
				var events []sseEvent
				events, _, err = readEvents(response.Body)
				response.Body.Close()
				got = len(events)
			}
			if err == nil || got != c.events || time.Since(start) != time.Hour {
				t.Errorf("%d events, then %v after %v", got, err, time.Since(start))
			}
			if served := b.lastServed(1); len(served.Faults) != 1 {
				t.Errorf("served %+v", served)
			}
			if used := b.server.Counters().UsedBlocks; used != 0 {
				t.Errorf("%d blocks in use", used)
			}
		})
	}
}

func TestEarlyStop(t *testing.T) {
	strike(t, Faults{EarlyStopRate: 1, EOSRate: 1}, func(t *testing.T, b *bench, events []sseEvent, _ int, _ string, err error) {
		o := sum(t, events)
		n := words.Count(o.content)
		if err != nil || n >= 10 || n < 1 || o.finish != "stop" || o.usage.CompletionTokens != n {
			t.Errorf("%+v, %v", o, err)
		}
		if served := b.lastServed(1); served.Done.Finish != FinishStop || served.Done.OutputTokens != n || served.MaxTokens != 10 {
			t.Errorf("served %+v", served)
		}
	})
	strike(t, Faults{EOSRate: 1}, func(t *testing.T, _ *bench, events []sseEvent, _ int, _ string, _ error) {
		if o := sum(t, events); words.Count(o.content) != 10 || o.finish != "length" {
			t.Errorf("ignore_eos was ignored: %+v", o)
		}
	})
}

func TestReasoning(t *testing.T) {
	for _, field := range []string{"reasoning_content", "reasoning"} {
		strike(t, Faults{ReasoningRate: 1, ReasoningTokens: 4, ReasoningField: field}, func(t *testing.T, _ *bench, events []sseEvent, _ int, raw string, err error) {
			o := sum(t, events)
			if err != nil || words.Count(o.reasoning) != 4 || words.Count(o.content) != 6 || strings.HasPrefix(o.content, " ") ||
				o.usage.CompletionDetails.ReasoningTokens != 4 || !strings.Contains(raw, `"`+field+`":"`) {
				t.Errorf("%s: %+v, %v", field, o, err)
			}
		})
	}
	strike(t, Faults{ReasoningRate: 1, ReasoningTokens: 100}, func(t *testing.T, _ *bench, events []sseEvent, _ int, _ string, _ error) {
		if o := sum(t, events); words.Count(o.reasoning) != 10 || o.content != "" || o.finish != "length" {
			t.Errorf("%+v", o)
		}
	})
}

func TestToolCalls(t *testing.T) {
	for _, reasoning := range []int{0, 3, 9} {
		f := Faults{ToolCallRate: 1}
		if reasoning > 0 {
			f.ReasoningRate, f.ReasoningTokens = 1, reasoning
		}
		strike(t, f, func(t *testing.T, _ *bench, events []sseEvent, _ int, raw string, err error) {
			o := sum(t, events)
			var arguments struct{ Input string }
			mustUnmarshal(t, o.arguments, &arguments)
			if err != nil || words.Count(arguments.Input) != 10-reasoning || o.content != "" || o.finish != "tool_calls" ||
				strings.Count(raw, `"name":"run"`) != 1 || o.empty != 0 {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
}

func TestFraming(t *testing.T) {
	whole := func(name string, events []sseEvent, err error) output {
		o := sum(t, events)
		if err != nil || words.Count(o.content) != 10 || o.finish != "length" || o.usage == nil || !o.done {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
		return o
	}
	strike(t, Faults{RoleFrameRate: 1}, func(t *testing.T, _ *bench, events []sseEvent, _ int, _ string, err error) {
		if o := whole("role frame", events, err); o.roleOnly != 1 || events[1].at.Sub(events[0].at) != 110*time.Millisecond {
			t.Errorf("role frame: %+v", o)
		}
	})
	strike(t, Faults{EmptyDeltaRate: 1}, func(t *testing.T, _ *bench, events []sseEvent, _ int, _ string, err error) {
		if o := whole("empty deltas", events, err); o.empty != 2 {
			t.Errorf("empty deltas: %+v", o)
		}
	})
	strike(t, Faults{CRLFRate: 1}, func(t *testing.T, _ *bench, events []sseEvent, _ int, raw string, err error) {
		if whole("CR LF", events, err); strings.Count(raw, "\r\n") != strings.Count(raw, "\n") {
			t.Errorf("a bare newline in %q", raw)
		}
	})
	strike(t, Faults{CommentRate: 1}, func(t *testing.T, _ *bench, events []sseEvent, comments int, _ string, err error) {
		if whole("comments", events, err); comments != len(events) {
			t.Errorf("%d comments to %d events", comments, len(events))
		}
	})
	strike(t, Faults{MissingUsageRate: 1}, func(t *testing.T, _ *bench, events []sseEvent, _ int, raw string, err error) {
		if o := sum(t, events); err != nil || !o.done || strings.Contains(raw, "usage") {
			t.Errorf("missing usage: %+v, %v", o, err)
		}
	})
	strike(t, Faults{SplitRate: 1, CRLFRate: 1, CommentRate: 1}, func(t *testing.T, _ *bench, events []sseEvent, _ int, _ string, err error) {
		whole("split", events, err)
	})
}

// TestSplitEventsArriveInPieces reads the connection itself.
func TestSplitEventsArriveInPieces(t *testing.T) {
	pieces := func(f Faults) (n int) {
		cfg := quiet()
		cfg.Faults = f
		inBubble(t, cfg, func(t *testing.T, b *bench) {
			response, err := b.post(t.Context(), "/v1/chat/completions", chatBody(92, 10, ""))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			buf := make([]byte, 1<<16)
			for err == nil {
				var k int
				if k, err = response.Body.Read(buf); k > 0 {
					n++
				}
			}
		})
		return n
	}
	// 10 tokens, usage, end.
	if whole, split := pieces(Faults{}), pieces(Faults{SplitRate: 1}); whole != 12 || split != 36 {
		t.Errorf("%d reads whole and %d split, want 12 and 36", whole, split)
	}
}

// TestRatesAreRepeatable: a rate strikes that share of requests, the same ones
// again, and another seed strikes others.
func TestRatesAreRepeatable(t *testing.T) {
	struck := func(seed uint64, name string) (nums []uint64) {
		for num := range uint64(10_000) {
			if (lot{seed, num}).strikes(name, 0.2) {
				nums = append(nums, num)
			}
		}
		return nums
	}
	first := struck(1, "drop_rate")
	if n := len(first); n < 1850 || n > 2150 {
		t.Errorf("a rate of 0.2 struck %d of 10,000", n)
	}
	if !slices.Equal(first, struck(1, "drop_rate")) {
		t.Error("not repeatable")
	}
	if slices.Equal(first, struck(2, "drop_rate")) || slices.Equal(first, struck(1, "stall_rate")) {
		t.Error("seed or name makes no difference")
	}
	for num := range uint64(1000) {
		if (lot{1, num}).strikes("x", 0) || !(lot{1, num}).strikes("x", 1) {
			t.Fatal("rates of 0 and 1 must be certain")
		}
	}
}

func TestWholeAnswerFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults Faults
		status int
		broken bool
	}{
		{"stream error", Faults{StreamErrorRate: 1}, 500, false},
		{"drop", Faults{DropRate: 1}, 200, true},
		{"garbage", Faults{GarbageRate: 1}, 200, false},
		{"stall", Faults{StallRate: 1}, 200, false},
	} {
		cfg := quiet()
		cfg.Faults = c.faults
		inBubble(t, cfg, func(t *testing.T, b *bench) {
			response, err := b.post(t.Context(), "/v1/chat/completions", strings.Replace(chatBody(9, 5, ""), `"stream":true,`, ``, 1))
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadAll(response.Body)
			response.Body.Close()
			if response.StatusCode != c.status || (err != nil) != c.broken {
				t.Errorf("%s: %d, %v", c.name, response.StatusCode, err)
			}
		})
	}
}
