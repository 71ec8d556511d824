package scrape

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/org/agentx-action/pkg/result/record"
)

// Families are the metric families of a page, by their name there.
type Families map[string]*dto.MetricFamily

// Page is one reading of one engine's metrics.
type Page struct {
	At       record.Stamp // when the engine began to answer; 0 without a clock
	Families Families     // those that a table of this package reads

	text []byte // all of it
}

const (
	maxPage    = 16 << 20 // bytes; a vLLM page of 8 engines has about 1 MB
	maxSamples = 50_000   // of the families we read
)

// Parse reads a page in Prometheus' text format 0.0.4. Lines of families that
// no table reads are only checked for being such lines: nine tenths of an
// engine's page are buckets of histograms, and the client has better use for
// its CPU. An error names the line.
func Parse(body []byte) (Families, error) {
	if err := plausible(body); err != nil {
		return nil, err
	}
	text, err := pick(body)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("not Prometheus text: %w", err)
	}
	return known(families), nil
}

// known gives the families the names that the rules know them by.
func known(families Families) Families {
	for name, f := range families {
		to, ok := wanted[name]
		if !ok || to == name {
			continue
		}
		delete(families, name)
		if _, both := families[to]; !both {
			families[to] = f
		}
	}
	return families
}

func plausible(body []byte) error {
	start := bytes.TrimSpace(body)
	switch {
	case len(body) > maxPage:
		return fmt.Errorf("the page is larger than %d MiB", maxPage>>20)
	case len(start) == 0:
		return errors.New("the page is empty")
	case start[0] == '<':
		return errors.New("the page is HTML or XML, not Prometheus text")
	case !utf8.Valid(body):
		return errors.New("the page is not text (invalid UTF-8)")
	case body[len(body)-1] != '\n':
		return errors.New("the page is cut off in its last line")
	}
	return nil
}

// pick blanks out what no rule reads, so that line numbers stay true.
func pick(body []byte) ([]byte, error) {
	out := make([]byte, 0, len(body)/4)
	samples, number := 0, 0
	for line := range bytes.Lines(body) {
		number++
		name, comment, ok := nameOf(line)
		if !ok {
			return nil, fmt.Errorf("not Prometheus text: line %d is no sample and no comment", number)
		}
		if _, ok := wanted[string(name)]; !ok {
			out = append(out, '\n')
			continue
		}
		if !comment {
			if samples++; samples > maxSamples {
				return nil, fmt.Errorf("the page has more than %d samples of the families that are read", maxSamples)
			}
		}
		out = append(out, line...)
	}
	return out, nil
}

// nameOf finds the metric name that a line is about; none for blank lines and
// plain comments. It is not ok for a line that begins like nothing of the format.
func nameOf(line []byte) (name []byte, comment, ok bool) {
	line = bytes.TrimLeft(line, " \t")
	line = bytes.TrimRight(line, "\r\n")
	switch {
	case len(line) == 0:
		return nil, false, true
	case line[0] == '#':
		words := bytes.Fields(line)
		if len(words) < 3 || string(words[1]) != "TYPE" && string(words[1]) != "HELP" {
			return nil, true, true
		}
		return words[2], true, true
	case line[0] == '{': // the quoted form: {"name",label="value"} 1
		quoted := bytes.SplitN(line, []byte{'"'}, 3)
		if len(quoted) < 3 {
			return nil, false, false
		}
		next := bytes.TrimLeft(quoted[2], " \t")
		return quoted[1], false, bytes.HasPrefix(next, []byte{','}) || bytes.HasPrefix(next, []byte{'}'})
	}
	end := 0
	for end < len(line) && isNameByte(line[end]) {
		end++
	}
	if end == 0 || end == len(line) || line[0] >= '0' && line[0] <= '9' {
		return nil, false, false
	}
	next := line[end]
	return line[:end], false, next == ' ' || next == '\t' || next == '{'
}

func isNameByte(b byte) bool {
	return b == '_' || b == ':' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
