package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
)

func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

func contrast(a, b color.NRGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestColoursHoldOnLightAndDark(t *testing.T) {
	for _, back := range []color.NRGBA{{0xff, 0xff, 0xff, 0xff}, {0x0d, 0x11, 0x17, 0xff}} {
		for _, c := range []color.NRGBA{blue, orange, teal, violet, red} {
			if got := contrast(c, back); got < 3 {
				t.Errorf("%s on %s: %.2f", hex(c), hex(back), got)
			}
		}
		if got := contrast(ink, back); got < 4 {
			t.Errorf("text on %s: %.2f", hex(back), got)
		}
	}
}

// evidence is a run of lanes with trees, some with children.
func evidence(lanes int) *Evidence {
	rng := rand.New(rand.NewPCG(1, 2))
	e := &Evidence{Counting: record.CountServer, Start: 1e9, End: 601e9}
	for lane := range lanes {
		at := record.Stamp(1e9)
		for tree := 0; at < 600e9; tree++ {
			start := at
			for turn := range 8 {
				took := record.Stamp(rng.Float64() * 20e9)
				n, cached := int64(1000*(turn+1)), int64(700*(turn+1))
				r := record.Record{
					Asked: record.Asked{Phase: record.PhaseProfiling, Lane: lane, Depth: turn % 2, Turn: turn, Blocks: int(n / 64), BlockSize: 64, HitInstant: int(n/64) - 3, IdealEnded: int(n/64) - 4},
					Seen:  record.Seen{Outcome: record.OK, Sent: at, FirstToken: at + took/4, LastToken: at + took, End: at + took, Usage: &record.Usage{PromptTokens: &n, CachedTokens: &cached}},
				}
				if turn == 5 && tree == 1 {
					r.Seen.Outcome = record.Failed
				}
				e.Record(&r)
				at += took + record.Stamp(rng.Float64()*5e9)
			}
			e.Tree(&record.Tree{Num: tree, Lane: lane, Start: start, End: at})
		}
	}
	return e
}

func turns(scale float64) []summary.TurnBucket {
	return []summary.TurnBucket{
		{From: 0, To: 0, TTFT: &summary.Stats{P50: 800 * scale, P90: 1600 * scale}},
		{From: 1, To: 1},
		{From: 2, To: 3, TTFT: &summary.Stats{P50: 200 * scale, P90: 900 * scale}},
	}
}

func series(name string) []Series {
	return []Series{
		{Name: name, Points: []Point{{100, 300, true, "4 lanes"}, {50, 500, true, "8 lanes"}, {40, 400, true, "16 lanes"}}},
		{Name: "fixed", Fixed: true, Points: []Point{{120, 900, true, "4 at once"}}},
		{Name: "none"},
	}
}

func all(t *testing.T) []*Chart {
	t.Helper()
	var out []*Chart
	add := func(c *Chart, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	e := evidence(6)
	add(Frontier(series(`pr-7 <script>alert("x")</script> & 引擎`)))
	add(InFlight(e))
	add(Lanes(e))
	add(TurnDepth(turns(1), turns(0.9)))
	add(Cache(e))
	return out
}

func TestEveryChartIsNamed(t *testing.T) {
	var names []string
	for _, c := range all(t) {
		names = append(names, c.Name)
		if c.Title == "" || c.Note == "" || len(c.legend) < 2 || c.plot.X.Label.Text == "" || c.plot.Y.Label.Text == "" {
			t.Errorf("%s lacks a title, a note, a legend or the name of an axis", c.Name)
		}
	}
	if !slices.Equal(names, Names) {
		t.Errorf("%q, want %q", names, Names)
	}
}

func TestSVG(t *testing.T) {
	for _, c := range all(t) {
		var b bytes.Buffer
		if err := c.SVG(&b); err != nil {
			t.Fatal(err)
		}
		inline, err := c.Inline()
		if err != nil {
			t.Fatal(err)
		}
		for kind, text := range map[string]string{"file": b.String(), "inline": inline} {
			texts, elements := parse(t, text)
			if elements["script"]+elements["style"]+elements["image"]+elements["a"] > 0 {
				t.Errorf("%s %s: elements %v", c.Name, kind, elements)
			}
			for _, want := range []string{c.Title, c.plot.X.Label.Text, c.plot.Y.Label.Text} {
				if !slices.Contains(texts, want) {
					t.Errorf("%s %s: %q is not in it", c.Name, kind, want)
				}
			}
			for _, e := range c.legend {
				if !slices.Contains(texts, e.text) {
					t.Errorf("%s %s: the legend lacks %q", c.Name, kind, e.text)
				}
			}
		}
		if strings.Contains(inline, hex(ink)+`"`) && strings.Contains(inline, "fill:"+hex(ink)) {
			t.Errorf("%s: text keeps its own colour on the page", c.Name)
		}
		if b.Len() > 1<<20 {
			t.Errorf("%s: %d bytes", c.Name, b.Len())
		}
	}
}

// parse reads an SVG as XML and gives its texts and elements.
func parse(t *testing.T, svg string) (texts []string, elements map[string]int) {
	t.Helper()
	elements = map[string]int{}
	d := xml.NewDecoder(strings.NewReader(svg))
	d.Strict = true
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts, elements
		}
		if err != nil {
			t.Fatalf("%v in %.300s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			elements[e.Name.Local]++
			inText = e.Name.Local == "text"
		case xml.CharData:
			if inText {
				texts = append(texts, string(e))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

var placed = regexp.MustCompile(`<text textLength="([0-9.]+)"[^>]* x="([-0-9.]+)" y="([-0-9.]+)" transform="scale\(1, -1\)"\s+style="[^"]*font-size:([0-9.]+)px`)

// Texts that aren't turned must not lie on each other. (The one that is turned, the
// name of the upright axis, has its own system of coordinates: x or y is near 0.)
func TestTextsDoNotOverlap(t *testing.T) {
	for _, c := range all(t) {
		var b bytes.Buffer
		if err := c.SVG(&b); err != nil {
			t.Fatal(err)
		}
		type box struct{ x0, y0, x1, y1 float64 }
		var boxes []box
		for _, m := range placed.FindAllStringSubmatch(b.String(), -1) {
			var v [4]float64
			for i := range v {
				v[i], _ = strconv.ParseFloat(m[i+1], 64)
			}
			w, x, y, size := v[0], v[1], v[2], v[3]
			if x < 0 || y > 0 {
				continue // turned
			}
			boxes = append(boxes, box{x, y - 0.7*size, x + w, y})
		}
		if len(boxes) < 8 {
			t.Errorf("%s: found %d texts", c.Name, len(boxes))
		}
		for i, a := range boxes {
			if a.x1 > width {
				t.Errorf("%s: a text ends at %.0f", c.Name, a.x1)
			}
			for _, o := range boxes[:i] {
				if a.x0 < o.x1 && o.x0 < a.x1 && a.y0 < o.y1 && o.y0 < a.y1 {
					t.Errorf("%s: texts overlap: %v and %v", c.Name, a, o)
				}
			}
		}
	}
}

func TestPNG(t *testing.T) {
	for _, c := range all(t) {
		var b bytes.Buffer
		if err := c.PNG(&b); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if w := img.Bounds().Dx(); w != 2*width {
			t.Errorf("%s is %d pixels wide", c.Name, w)
		}
		if _, _, _, alpha := img.At(1, 1).RGBA(); alpha != 0 {
			t.Errorf("%s: its background is not transparent", c.Name)
		}
		lines, texts := 0, 0
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				switch img.At(x, y) {
				case blue:
					lines++
				case ink:
					texts++
				}
			}
		}
		if lines < 100 || texts < 100 {
			t.Errorf("%s: %d pixels of the first colour, %d of text", c.Name, lines, texts)
		}
	}
}

func TestAbsent(t *testing.T) {
	none := &Evidence{}
	warm := &Evidence{}
	warm.Record(&record.Record{Asked: record.Asked{Phase: record.PhaseWarmup}, Seen: record.Seen{Sent: 1, End: 2}})
	bare := &Evidence{} // an engine that says nothing, a plan without blocks
	bare.Record(&record.Record{Asked: record.Asked{Phase: record.PhaseProfiling}, Seen: record.Seen{Outcome: record.OK, Sent: 1e9, FirstToken: 2e9, End: 3e9}})
	for name, f := range map[string]func() (*Chart, error){
		"in flight": func() (*Chart, error) { return InFlight(none) },
		"warm-up":   func() (*Chart, error) { return InFlight(warm) },
		"lanes":     func() (*Chart, error) { return Lanes(bare) },
		"cache":     func() (*Chart, error) { return Cache(none) },
		"no cache":  func() (*Chart, error) { return Cache(bare) },
		"depth":     func() (*Chart, error) { return TurnDepth(nil, turns(1)) },
		"frontier":  func() (*Chart, error) { return Frontier(nil) },
		"one point": func() (*Chart, error) { return Frontier([]Series{{Points: []Point{{1, 1, true, ""}}}}) },
		"mixed": func() (*Chart, error) {
			return Frontier([]Series{{Points: []Point{{1, 1, true, ""}, {2, 2, false, ""}}}})
		},
	} {
		c, err := f()
		var absent *Absent
		if c != nil || !errors.As(err, &absent) || absent.Why == "" || absent.Title == "" || !slices.Contains(Names, absent.Name) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if _, err := InFlight(bare); err != nil {
		t.Error(err)
	}
}

// Times that no run has draw nothing, or what the requests cover: they are read from
// files of others.
func TestTimesOfNoRun(t *testing.T) {
	const least, most = math.MinInt64, math.MaxInt64
	times := []record.Stamp{least, least + 1, -1, 0, 1, 1e9, most - 1, most}
	for _, start := range times {
		for _, end := range times {
			e := evidence(2)
			e.Start, e.End = start, end
			pictures := drawn(t, e)
			if start == least && end == most && len(pictures) != 3 {
				t.Errorf("%d pictures of requests that are as they should be", len(pictures))
			}
			odd := &Evidence{Start: 1e9, End: 601e9}
			for lane, at := range []record.Stamp{start, end} {
				n := int64(1000)
				odd.Record(&record.Record{
					Asked: record.Asked{Phase: record.PhaseProfiling, Lane: lane * math.MaxInt, Blocks: 10, BlockSize: 64},
					Seen:  record.Seen{Outcome: record.OK, Sent: min(start, end), FirstToken: at, End: max(start, end), Usage: &record.Usage{PromptTokens: &n, CachedTokens: &n}},
				})
				odd.Tree(&record.Tree{Num: lane, Lane: -lane, Start: start, End: end})
			}
			drawn(t, odd)
			odd.Start, odd.End = 0, 0
			drawn(t, odd)
		}
	}
}

// drawn are the pictures with a course in time that there are.
func drawn(t *testing.T, e *Evidence) (list []*Chart) {
	t.Helper()
	for _, f := range []func(*Evidence) (*Chart, error){InFlight, Lanes, Cache} {
		c, err := f(e)
		var absent *Absent
		switch {
		case errors.As(err, &absent):
			continue
		case err != nil:
			t.Fatal(err)
		}
		if err := c.SVG(io.Discard); err != nil {
			t.Fatalf("phase %d to %d: %v", e.Start, e.End, err)
		}
		list = append(list, c)
	}
	return list
}

// The peaks of bins hold what a count at every point in time gives.
func TestPeaks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		from, to := record.Stamp(1000), record.Stamp(1000+bins*10)
		var spans []span
		for range rng.IntN(40) {
			a := record.Stamp(rng.IntN(9000))
			spans = append(spans, span{a, a + record.Stamp(rng.IntN(2000))})
		}
		want := make([]int, bins)
		for at := from; at < to; at++ {
			n := 0
			for _, s := range spans {
				if s.from <= at && at < s.to {
					n++
				}
			}
			b := int(at-from) / 10
			want[b] = max(want[b], n)
		}
		if got := peaks(spans, from, to); !slices.Equal(got, want) {
			t.Fatalf("%v: got %v, want %v", spans, got, want)
		}
	}
}

// No point of the frontier is beaten in both; every other one is.
func TestPareto(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		points := make([]Point, rng.IntN(12))
		for i := range points {
			points[i] = Point{Interactivity: float64(rng.IntN(6)), Throughput: float64(rng.IntN(6))}
		}
		frontier, beaten := pareto(points)
		if len(frontier)+len(beaten) != len(points) {
			t.Fatal("a point is lost")
		}
		for i, f := range frontier {
			if i > 0 && (frontier[i-1].Interactivity >= f.Interactivity || frontier[i-1].Throughput <= f.Throughput) {
				t.Fatalf("no frontier: %v", frontier)
			}
		}
		for _, b := range beaten {
			if !slices.ContainsFunc(frontier, func(f Point) bool { return f.Interactivity >= b.Interactivity && f.Throughput >= b.Throughput }) {
				t.Fatalf("%v is beaten by none of %v", b, frontier)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		low := rng.NormFloat64() * 100
		high := low + math.Exp(rng.NormFloat64()*6)
		list := ticks{}.Ticks(low, high)
		if len(list) < 4 || len(list) > 11 {
			t.Fatalf("%d ticks from %v to %v", len(list), low, high)
		}
	}
	for _, list := range [][]plot.Tick{(ticks{whole: true}).Ticks(0, 1.05), (ticks{}).Ticks(3, 3), (ticks{suffix: " %"}).Ticks(0, math.Inf(1))} {
		if len(list) == 0 || len(list) > 3 {
			t.Errorf("%v", list)
		}
	}
}

func TestWindows(t *testing.T) {
	for length, want := range map[float64]float64{5: 1, 30: 1, 60: 2, 300: 10, 900: 30, 1800: 60, 3600: 60, 86400: 300} {
		if got := windowOf(length); got != want {
			t.Errorf("%v s: windows of %v s, want %v", length, got, want)
		}
	}
	got := runs([]share{{1, 2}, {}, {3, 4}, {4, 4}}, 10)
	if len(got) != 2 || len(got[1]) != 2 || got[0][0].Y != 50 || got[1][0].X != 25 {
		t.Errorf("%v", got)
	}
}

func TestPointOf(t *testing.T) {
	d := &result.Document{InferenceX: &summary.InferenceX{}}
	if _, ok := PointOf(d); ok {
		t.Error("a result without interactivity has a point")
	}
	d.InferenceX.Latency.Intvty = &summary.IXDist{P50: 60}
	d.Metrics.Run = map[string]summary.Value{"output_token_throughput": {Value: 400}}
	d.GPUs, d.Settings.Concurrency = &result.GPUs{Count: 8}, 32
	if p, ok := PointOf(d); !ok || p != (Point{60, 50, true, "32 lanes"}) {
		t.Errorf("%+v", p)
	}
}

func TestNamed(t *testing.T) {
	if got := named("a\nb\x00\u202ec\xff" + strings.Repeat("x", 100)); got != "a bc\uFFFD"+strings.Repeat("x", 34)+"…" {
		t.Errorf("%q", got)
	}
}

func BenchmarkLanes(b *testing.B) {
	e := evidence(40)
	for b.Loop() {
		c, err := Lanes(e)
		if err != nil {
			b.Fatal(err)
		}
		if err := c.SVG(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
