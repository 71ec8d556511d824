package scrape

import (
	"bytes"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// sample splits a line of a page into its series, as the page writes it, and
// its value. It does not look into the labels: the same series is written the
// same way on every page of a server, so its text is its key, and is parsed once.
func sample(line []byte) (series []byte, value float64, ok bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return nil, 0, false
	}
	end := bytes.IndexAny(line, " \t{")
	if end < 0 {
		return nil, 0, false
	}
	if line[end] == '{' {
		close := closing(line[end:])
		if close < 0 {
			return nil, 0, false
		}
		end += close + 1
	}
	rest := bytes.TrimLeft(line[end:], " \t")
	if space := bytes.IndexAny(rest, " \t"); space >= 0 {
		rest = rest[:space] // a time follows
	}
	value, err := strconv.ParseFloat(string(rest), 64)
	return line[:end], value, err == nil
}

// closing is the place of the brace that ends the labels, -1 without one.
func closing(labels []byte) int {
	quoted := false
	for i := 0; i < len(labels); i++ {
		switch c := labels[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && c == '}':
			return i
		}
	}
	return -1
}

// parseSeries reads a series' text.
func parseSeries(text []byte) (name string, labels []label, ok bool) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text) + " 0\n"))
	if err != nil || len(families) != 1 {
		return "", nil, false
	}
	for name, f := range families {
		if len(f.GetMetric()) != 1 || len(f.GetMetric()[0].GetLabel()) > maxLabels {
			return "", nil, false
		}
		return name, plain(f.GetMetric()[0]), true
	}
	return "", nil, false
}

// plain are all labels of a series, in the order of the page.
func plain(m *dto.Metric) []label {
	labels := make([]label, 0, len(m.GetLabel()))
	for _, p := range m.GetLabel() {
		labels = append(labels, label{p.GetName(), p.GetValue()})
	}
	return labels
}
