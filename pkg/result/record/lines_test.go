package record

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// full is a record with every field that the export looks at.
func full() Record {
	return Record{
		Asked: Asked{
			Num: 7, Phase: PhaseProfiling, Kind: KindTurn, TraceID: "t1", Lane: 2, Tree: 3, Pass: 1, StreamID: "t1::sa:x", Turn: 4, Depth: 1,
			RequestID: "req", CorrelationID: "corr", ParentCorrelationID: "parent", RootCorrelationID: "root", Model: "m", MaxTokens: 11,
			RecordedIn: 1000, RecordedOut: 11, TextTokens: 1000, MarkTokens: 12, Messages: 9, BlockSize: 64, Blocks: 15, HitInstant: 14, HitCausal: 13,
			IdealEnded: 12, IdealBegun: 13, Due: 1e9, Ready: 1e9, Issued: 1.001e9,
		},
		Seen: Seen{
			Outcome: OK, Status: 200, Sent: 1.002e9, Headers: 1.05e9, FirstByte: 1.1e9, FirstToken: 1.102e9, FirstOutput: 1.122e9, SecondToken: 1.122e9,
			LastToken: 1.202e9, End: 1.21e9, Chunks: 3, Events: 6, ChunkGapsNs: []int64{20e6, 80e6}, Finish: "length",
			Usage: &Usage{PromptTokens: ptr[int64](1020), CompletionTokens: ptr[int64](11), TotalTokens: ptr[int64](1031), CachedTokens: ptr[int64](768), ReasoningTokens: ptr[int64](3)},
			HTTP: HTTP{Reused: ptr(true), BlockedNs: ptr[int64](1e6), DNSNs: ptr[int64](0), ConnectNs: ptr[int64](0), SendNs: ptr[int64](2e6), WaitNs: ptr[int64](95e6), ReceiveNs: ptr[int64](110e6),
				BytesSent: ptr[int64](5000), BytesReceived: ptr[int64](2500), WriteCalls: ptr[int64](2), ReadCalls: ptr[int64](4)},
		},
	}
}

func TestLinesRoundTrip(t *testing.T) {
	want := []Record{full(), {Asked: Asked{Num: 8, Phase: PhaseWarmup}, Seen: Seen{Outcome: Failed, Error: &Error{Code: 500, Type: "http", Message: "ü\n\"<&\u2028"}}}}
	var b bytes.Buffer
	w := NewWriter[Record](&b)
	for i := range want {
		if err := w.Write(&want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 2 || w.Count() != 2 {
		t.Fatalf("%d line feeds, count %d, want 2", n, w.Count())
	}
	var got []Record
	for r, err := range Read[Record](&b, "r.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, *r)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAbsentIsNotZero(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter[Record](&b)
	if err := w.Write(&Record{Asked: Asked{Phase: PhaseProfiling}, Seen: Seen{Outcome: Failed}}); err != nil {
		t.Fatal(err)
	}
	_ = w.Flush()
	for _, name := range []string{"_ns", "usage", "http", "status", "chunks", "error"} {
		if strings.Contains(b.String(), name+`":`) {
			t.Errorf("%q is written though nothing was seen: %s", name, b.String())
		}
	}
}

func TestWriterRefusesNaN(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter[Sample](&b)
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		err := w.Write(&Sample{CPUShare: &bad})
		if err == nil || !strings.Contains(err.Error(), "cpu_share") {
			t.Errorf("Write(%v) = %v, want an error naming cpu_share", bad, err)
		}
	}
	if err := w.Write(&Sample{At: 5}); err != nil { // still usable
		t.Fatal(err)
	}
	_ = w.Flush()
	if n := strings.Count(b.String(), "\n"); n != 1 {
		t.Errorf("%d lines, want the good one only", n)
	}
}

func TestWriterMendsUTF8(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter[Record](&b)
	bad := Record{Asked: Asked{Phase: PhaseProfiling}, Seen: Seen{Outcome: Failed, Error: &Error{Code: 500, Message: "a\xffb"}}}
	if err := w.Write(&bad); err != nil {
		t.Fatal(err)
	}
	_ = w.Flush()
	for r, err := range Read[Record](&b, "r") {
		if err != nil || r.Seen.Error.Message != "a\ufffdb" {
			t.Errorf("%+v %v", r, err)
		}
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriterErrorSticks(t *testing.T) {
	w := NewWriter[Sample](&failing{})
	_ = w.Write(&Sample{})
	if err := w.Flush(); err == nil {
		t.Fatal("Flush hides the writer's error")
	}
	if err := w.Write(&Sample{}); err == nil {
		t.Error("Write after a failed Flush succeeds")
	}
}

func TestReadFaults(t *testing.T) {
	good := `{"asked":{"num":1,"phase":"profiling"},"seen":{"outcome":"ok"}}` + "\n"
	for name, c := range map[string]struct {
		in   string
		n    int
		line int
		cut  bool
	}{
		"empty":           {"", 0, 0, false},
		"good":            {good + good, 2, 0, false},
		"no last feed":    {good + strings.TrimSpace(good), 2, 0, false},
		"cut":             {good + good[:20], 1, 2, true},
		"cut in a string": {good + `{"asked":{"trace_id":"ab`, 1, 2, true},
		"garbage":         {good + "xyz\n" + good, 1, 2, false},
		"blank line":      {good + "\n" + good, 1, 2, false},
		"two on a line":   {strings.TrimSpace(good) + good, 0, 1, false},
		"wrong type":      {`{"asked":{"num":"1"}}` + "\n", 0, 1, false},
		"twice the key":   {`{"asked":{},"asked":{}}` + "\n", 0, 1, false},
		"bad UTF-8":       {"{\"asked\":{\"trace_id\":\"\xff\"}}\n", 0, 1, false},
	} {
		n, last := 0, error(nil)
		for _, err := range Read[Record](strings.NewReader(c.in), "f.jsonl") {
			if last = err; err == nil {
				n++
			}
		}
		var at *LineError
		switch {
		case n != c.n:
			t.Errorf("%s: %d values, want %d", name, n, c.n)
		case c.line == 0 && last != nil:
			t.Errorf("%s: %v", name, last)
		case c.line != 0 && (!errors.As(last, &at) || at.Line != c.line || at.File != "f.jsonl"):
			t.Errorf("%s: error %v, want line %d", name, last, c.line)
		case errors.Is(last, ErrCut) != c.cut:
			t.Errorf("%s: cut = %v, want %v (%v)", name, !c.cut, c.cut, last)
		}
	}
}

// endless yields one line that never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += len(p)
	return len(p), nil
}

func TestReadBoundsLine(t *testing.T) {
	e := &endless{}
	for _, err := range Read[Record](e, "big") {
		if err == nil || errors.Is(err, ErrCut) {
			t.Fatalf("error %v, want a line too long", err)
		}
	}
	if e.read > MaxLine+(1<<20) {
		t.Errorf("read %d bytes of an endless line", e.read)
	}
}

func TestReadPassesIOError(t *testing.T) {
	r := io.MultiReader(strings.NewReader("{}\n"), iotestErr{})
	var last error
	for _, err := range Read[Sample](r, "s") {
		last = err
	}
	if !errors.Is(last, io.ErrClosedPipe) || errors.Is(last, ErrCut) {
		t.Errorf("error %v, want the reader's own", last)
	}
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	w := NewWriter[Record](&b)
	r := full()
	_ = w.Write(&r)
	_ = w.Flush()
	f.Add(b.Bytes())
	f.Add([]byte("{}\n{\"seen\":"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var got []Record
		for r, err := range Read[Record](bytes.NewReader(in), "f") {
			if err != nil {
				break
			}
			_ = r.Check()
			for _, m := range Metrics() { // no record may panic
				if v, ok := m.Of(r, CountServer); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
					t.Errorf("%s is %v", m.Key, v)
				}
			}
			got = append(got, *r)
		}
		// What was read can be written, and reads and writes the same again.
		first := write(t, got)
		var again []Record
		for r, err := range Read[Record](bytes.NewReader(first), "again") {
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, *r)
		}
		if second := write(t, again); !bytes.Equal(first, second) {
			t.Fatalf("wrote\n%s\nthen\n%s", first, second)
		}
	})
}

func write(t *testing.T, records []Record) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter[Record](&out)
	for i := range records {
		if err := w.Write(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
