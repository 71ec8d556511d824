package page

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/publish/chart"
	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// Input is all that stands on a page. Only the document is needed.
type Input struct {
	Document     *result.Document
	Comparison   *compare.Comparison
	AgainstFixed []compare.AgainstFixed
	Charts       []*chart.Chart
	Absent       []*chart.Absent
	Slowest      []Slow
	Notes        []string // what could not be read
	Altered      []string // what is not as the runs left it
}

// draw draws what can be drawn.
func (in *Input) draw(e *chart.Evidence, series []chart.Series, base *result.Document) {
	in.add(func() (*chart.Chart, error) { return chart.Frontier(series) })
	in.add(func() (*chart.Chart, error) { return chart.InFlight(e) })
	if in.Document.Mode != result.ModeFixed {
		in.add(func() (*chart.Chart, error) { return chart.Lanes(e) })
		in.add(func() (*chart.Chart, error) {
			if base == nil {
				return chart.TurnDepth(in.Document.Sessions.ByTurn, nil)
			}
			return chart.TurnDepth(in.Document.Sessions.ByTurn, base.Sessions.ByTurn)
		})
	}
	in.add(func() (*chart.Chart, error) { return chart.Cache(e) })
}

// add takes a picture, or the reason why there is none. A fault of the drawing
// library is one: no picture is worth the page.
func (in *Input) add(draw func() (*chart.Chart, error)) {
	defer func() {
		if r := recover(); r != nil {
			in.Notes = append(in.Notes, fmt.Sprintf("a picture: %v", r))
		}
	}()
	c, err := draw()
	var absent *chart.Absent
	switch {
	case err == nil:
		in.Charts = append(in.Charts, c)
	case errors.As(err, &absent):
		in.Absent = append(in.Absent, absent)
	default:
		in.Notes = append(in.Notes, err.Error())
	}
}

//go:embed page.html
var source string

var layout = template.Must(template.New("page").Funcs(template.FuncMap{
	"millis": func(d *time.Duration) string {
		if d == nil {
			return "–"
		}
		return millis(float64(*d) / 1e6)
	},
	"total":  func(d time.Duration) string { return millis(float64(d) / 1e6) },
	"tokens": tokens,
	"share":  share,
	"date":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
}).Parse(source))

// view is what the template sees.
type view struct {
	*Input
	Tables, Compared, Fixed template.HTML
	Pictures                []picture
	Badges                  []badge
	Failed                  []string // pictures, in words
}

type picture struct {
	*chart.Chart
	SVG template.HTML
}

type badge struct{ Class, Text string }

// HTML writes the page.
func (in *Input) HTML(w io.Writer) error {
	if in.Document == nil {
		return errors.New("page: no result document to show")
	}
	v := view{Input: in, Badges: badges(in)}
	var err error
	o := table.Options{HTML: true, HTTP: true}
	v.Tables, err = fragment(func(w io.Writer) error { return table.Result(w, in.Document, o) })
	if err != nil {
		return err
	}
	if in.Comparison != nil {
		v.Compared, err = fragment(func(w io.Writer) error { return table.Comparison(w, in.Comparison, o) })
	} else if len(in.AgainstFixed) > 0 {
		v.Fixed, err = fragment(func(w io.Writer) error { return table.AgainstFixed(w, in.AgainstFixed, o) })
	}
	if err != nil {
		return err
	}
	for _, c := range in.Charts {
		svg, err := c.Inline()
		if err != nil {
			v.Failed = append(v.Failed, err.Error())
			continue
		}
		v.Pictures = append(v.Pictures, picture{c, template.HTML(svg)}) //nolint:gosec // escaped by the chart package
	}
	return layout.Execute(w, v)
}

// fragment is HTML that the table package wrote, and escaped.
func fragment(write func(io.Writer) error) (template.HTML, error) {
	var b strings.Builder
	err := write(&b)
	return template.HTML(b.String()), err //nolint:gosec // escaped by the table package
}

func badges(in *Input) []badge {
	var out []badge
	if len(in.Altered) > 0 {
		out = append(out, badge{"bad", "altered since the run"})
	}
	if c := in.Comparison; c != nil {
		class := "warn"
		switch c.Verdict {
		case compare.Regression, compare.Refused:
			class = "bad"
		case compare.Improvement, compare.NoChange:
			class = "good"
		}
		out = append(out, badge{class, "against base: " + string(c.Verdict)})
	}
	v := &in.Document.Validity
	switch {
	case v.SubmissionValid == nil:
		out = append(out, badge{"warn", "validity not judged"})
	case *v.SubmissionValid:
		out = append(out, badge{"good", "valid submission"})
	default:
		out = append(out, badge{"bad", "not a valid submission"})
	}
	if v.Trusted {
		return append(out, badge{"good", "trusted"})
	}
	return append(out, badge{"bad", "not trusted"})
}

// millis shows a time given in ms with three digits.
func millis(ms float64) string {
	switch {
	case ms == 0:
		return "0 ms"
	case ms < 0.9995:
		return three(ms*1e3) + " µs"
	case ms < 999.5:
		return three(ms) + " ms"
	case ms < 999.5e3:
		return three(ms/1e3) + " s"
	}
	return three(ms/60e3) + " min"
}

func three(v float64) string {
	decimals := 0
	for limit := 99.95; v < limit && decimals < 2; limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func tokens(n *int64) string {
	if n == nil {
		return "–"
	}
	return strconv.FormatInt(*n, 10)
}

// share is the width of a part in a request's bar, in percent.
func share(p Part, s Slow) string {
	if p.Time == nil || p.Before || s.Total <= 0 || *p.Time <= 0 {
		return "0"
	}
	return fmt.Sprintf("%.2f", min(100*float64(*p.Time)/float64(s.Total), 100))
}
