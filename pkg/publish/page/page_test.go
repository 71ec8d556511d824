package page

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/org/agentx-action/pkg/publish/chart"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// report makes a page and parses it. It draws no PNG, which takes long under the
// race detector.
func report(t testing.TB, dir string, o Options) (*html.Node, string) {
	t.Helper()
	doc, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	in, err := gather(dir, doc, o, &Written{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := in.HTML(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	root, err := html.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return root, text
}

// walk visits all elements.
func walk(n *html.Node, visit func(*html.Node)) {
	if n.Type == html.ElementNode {
		visit(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, visit)
	}
}

func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(textOf(c))
	}
	return b.String()
}

// tables gives every row of the page's tables by its table's first head and its own.
func tables(root *html.Node) map[[2]string][]string {
	out := map[[2]string][]string{}
	walk(root, func(n *html.Node) {
		if n.Data != "table" {
			return
		}
		head := ""
		walk(n, func(row *html.Node) {
			if row.Data != "tr" {
				return
			}
			var cells []string
			for c := row.FirstChild; c != nil; c = c.NextSibling {
				if c.Data == "th" || c.Data == "td" {
					cells = append(cells, textOf(c))
				}
			}
			if row.Parent.Data == "thead" {
				head = cells[0]
			} else {
				out[[2]string{head, cells[0]}] = cells
			}
		})
	})
	return out
}

// number reads what the tables write: a figure with its unit, in ms, tokens, shares
// of 1 and so on.
func number(t *testing.T, cell string) float64 {
	t.Helper()
	digits, unit, _ := strings.Cut(strings.TrimPrefix(cell, "≥ "), " ")
	scale := map[string]float64{"": 1, "ms": 1, "µs": 1e-3, "s": 1e3, "min": 60e3, "h": 3600e3, "%": 0.01, "kB": 1, "MB": 1e3, "B": 1e-3}[unit]
	for suffix, by := range map[string]float64{"k": 1e3, "M": 1e6, "B": 1e9} {
		if d, ok := strings.CutSuffix(digits, suffix); ok {
			digits, scale = d, scale*by
		}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || scale == 0 {
		t.Fatalf("%q is no figure", cell)
	}
	return v * scale
}

func near(got, want float64) bool { return math.Abs(got-want) <= 0.006*math.Abs(want) }

func TestTablesEqualTheResult(t *testing.T) {
	dir := folder(t, strings.Clone)
	root, _ := report(t, dir, Options{})
	doc, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := tables(root)
	row := func(table, label string, cells int) []string {
		r := rows[[2]string{table, label}]
		if len(r) != cells {
			t.Fatalf("%s / %s: %q", table, label, r)
		}
		return r
	}
	compared := 0
	same := func(label, cell string, want float64) {
		t.Helper()
		compared++
		if got := number(t, cell); !near(got, want) {
			t.Errorf("%s: the page says %q, the result %v", label, cell, want)
		}
	}
	for label, key := range map[string]string{
		"TTFT": "time_to_first_token", "ITL (per token)": "inter_token_latency", "E2E latency": "request_latency",
		"Input length, ISL (tokens)": "input_sequence_length", "Output length, OSL (tokens)": "output_sequence_length",
	} {
		s, ok := doc.Metrics.Request[key]
		if !ok {
			t.Fatalf("the result has no %s", key)
		}
		r := row("Latency", label, 7)
		for i, want := range []float64{s.Avg, s.P50, s.P90, s.P95, s.P99, float64(s.Count)} {
			same(label, r[i+1], want)
		}
	}
	for label, key := range map[string]string{
		"Output tokens": "output_token_throughput", "Input tokens": "input_token_throughput", "Requests": "request_throughput",
	} {
		r := row("Throughput", label, 4)
		v := doc.Metrics.Run[key].Value
		same(label, r[1], v)
		same(label+" per GPU", r[2], v/float64(doc.GPUs.Count))
	}
	for label, s := range map[string]float64{
		"Theoretical, instant": doc.Cache.TheoreticalInstant.Rate, "Ideal as played": doc.Cache.IdealEnded.Rate, "Reported in usage": doc.Cache.Usage.Rate,
	} {
		same(label, row("Prefix cache", label, 6)[1], s)
	}
	q := doc.Requests.Profiling
	r := row("Requests", "Measured", 7)
	for i, want := range []int{q.Total(), q.OK, q.Errors, q.Overflow, q.Censored} {
		same("requests", r[i+1], float64(want))
	}
	for _, b := range doc.Sessions.ByTurn {
		if b.From == b.To {
			r := row("Turn", strconv.Itoa(b.From), 8)
			same("TTFT by turn", r[4], b.TTFT.P50)
			same("TTFT by turn", r[5], b.TTFT.P90)
		}
	}
	for _, p := range doc.Identity.Pairs {
		if r := row("Key", p.Key, 2); r[1] != p.Value {
			t.Errorf("identity %s: %q, want %q", p.Key, r[1], p.Value)
		}
	}
	if compared < 45 {
		t.Errorf("only %d figures were compared", compared)
	}
}

// outside finds everything in a page that could load or send something.
func outside(root *html.Node) []string {
	var found []string
	walk(root, func(n *html.Node) {
		switch n.Data {
		case "script", "iframe", "object", "embed", "form", "base", "video", "audio", "foreignObject", "foreignobject", "animate", "set", "use", "image":
			found = append(found, "<"+n.Data+">")
		case "meta":
			for _, a := range n.Attr {
				if a.Key == "http-equiv" && !strings.EqualFold(a.Val, "content-security-policy") {
					found = append(found, "meta "+a.Val)
				}
			}
		}
		for _, a := range n.Attr {
			inside := strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "data:")
			switch {
			case strings.HasPrefix(a.Key, "on"):
				found = append(found, a.Key)
			case a.Key == "src" || a.Key == "href" || a.Key == "srcset" || a.Key == "action" || a.Key == "poster" || a.Key == "ping" || a.Key == "background":
				if !inside {
					found = append(found, a.Key+"="+a.Val)
				}
			case a.Key == "style" && strings.Contains(a.Val, "url("):
				found = append(found, "style="+a.Val)
			}
		}
		if n.Data == "style" && (strings.Contains(textOf(n), "url(") || strings.Contains(textOf(n), "@import")) {
			found = append(found, "a style that loads")
		}
	})
	return found
}

func TestOutsideFinds(t *testing.T) {
	root, err := html.Parse(strings.NewReader(`<meta http-equiv=refresh content="0;url=/"><a href="http://x">a</a><img src=x onerror=y><p style="background:url(x)"><script></script><style>@import "x"</style><a href="#in">b</a>`))
	if err != nil {
		t.Fatal(err)
	}
	if found := outside(root); len(found) != 7 {
		t.Errorf("%q", found)
	}
}

func TestNothingLeavesThePage(t *testing.T) {
	root, text := report(t, folder(t, strings.Clone), Options{})
	if found := outside(root); len(found) > 0 {
		t.Errorf("%q", found)
	}
	if !strings.Contains(text, `http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;`) && !strings.Contains(text, `http-equiv="Content-Security-Policy" content="default-src 'none'`) {
		t.Error("no content security policy")
	}
	figures := 0
	walk(root, func(n *html.Node) {
		if n.Data == "svg" {
			figures++
		}
	})
	if figures != 4 {
		t.Errorf("%d pictures", figures)
	}
}

func TestHostileTextStaysText(t *testing.T) {
	dir := folder(t, func(s string) string { return s + evil })
	doc, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &compare.Comparison{
		Kind: compare.Kind, Verdict: compare.Verdict(evil), Summary: evil, Head: compare.Side{Label: evil, Runs: []compare.RunRef{{RunID: doc.RunID, Where: evil, Findings: []string{evil}}}},
		Refused: []compare.Mismatch{{Key: evil, Base: evil, Head: evil}}, Notes: []string{evil}, Layers: []compare.Layer{{Name: evil, Moved: true, Text: evil}},
		HeadAgainstFixed: []compare.AgainstFixed{{Shape: evil, Note: evil, Rows: []compare.Row{{Label: evil, Unit: evil}}}},
	}
	root, text := report(t, dir, Options{Comparison: c, Base: dir})
	if found := outside(root); len(found) > 0 {
		t.Errorf("%q", found)
	}
	if !strings.Contains(textOf(root), "<script src=") || !strings.Contains(text, "&lt;script") {
		t.Error("the hostile text isn't on the page at all")
	}
	walk(root, func(n *html.Node) {
		if n.Data == "img" {
			t.Error("an element came out of a name")
		}
	})
}

func TestComparisonIsOnThePage(t *testing.T) {
	dir := folder(t, strings.Clone)
	c := &compare.Comparison{Kind: compare.Kind, Verdict: compare.Regression, Summary: "TTFT got worse.", Gated: []compare.Finding{{
		Metric: "ttft_p50", Label: "TTFT p50", Unit: "ms", Better: compare.LowerIsBetter, Gated: true, Base: ptr(100.0), Head: ptr(110.2), Ratio: ptr(1.102), Low: ptr(1.081), High: ptr(1.124), Verdict: compare.Regression,
	}}}
	root, text := report(t, dir, Options{Comparison: c})
	if row := tables(root)[[2]string{"What moved", "TTFT p50*"}]; len(row) != 5 || row[3] != "+10.2 % [8.1, 12.4]" {
		t.Errorf("%q", row)
	}
	if !strings.Contains(text, "against base: regression") {
		t.Error("the verdict is not on top")
	}
}

func TestAPageNeedsADocument(t *testing.T) {
	if err := (&Input{}).HTML(&bytes.Buffer{}); err == nil {
		t.Error("no error")
	}
	if err := (&Input{Document: &result.Document{}}).HTML(&bytes.Buffer{}); err != nil {
		t.Error(err)
	}
}

func TestMillis(t *testing.T) {
	for v, want := range map[float64]string{0: "0 ms", 0.0091: "9.10 µs", 0.9996: "1.00 ms", 12.34: "12.3 ms", 999.6: "1.00 s", 99.96: "100 ms", 61_000: "61.0 s", 1_200_000: "20.0 min"} {
		if got := millis(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func BenchmarkReport(b *testing.B) {
	dir := folder(b, strings.Clone)
	for b.Loop() {
		if _, err := Report(dir, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAFaultyPictureCostsNotThePage(t *testing.T) {
	in := Input{Document: &result.Document{}}
	in.add(func() (*chart.Chart, error) { panic("no font") })
	in.Charts = append(in.Charts, &chart.Chart{Name: "empty"}) // nothing in it to draw
	var b bytes.Buffer
	if err := in.HTML(&b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "no font") || !strings.Contains(text, "Could not be drawn: chart empty") {
		t.Error("the page doesn't say what could not be drawn")
	}
}
