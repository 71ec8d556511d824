package result

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/result/record"
)

// Problem is one fault of a run's folder.
type Problem struct {
	File string // path in the folder
	At   string // line or JSON pointer; may be empty
	Text string
}

func (p Problem) String() string {
	if p.At == "" {
		return p.File + ": " + p.Text
	}
	return p.File + ":" + p.At + ": " + p.Text
}

// maxProblems bounds the problems of one kind.
const maxProblems = 20

// Check proves a run's folder: the manifest, the schemas, every record, and
// that result.json follows from the records, figure by figure. It reads
// everything and changes nothing. No problems means that the folder is whole;
// an error that it could not be read at all.
func Check(dir string) ([]Problem, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var out []Problem
	_, err = verify(root, nil)
	out = append(out, split(FileManifest, err)...)
	text, err := readDocument(root, FileResult)
	if err != nil {
		return append(out, Problem{File: FileResult, Text: err.Error()}), nil
	}
	out = append(out, schemaProblems(FileResult, Validate(text))...)
	records, err := checkRecords(root)
	if err != nil {
		out = append(out, Problem{File: FileRecords, Text: err.Error()})
	}
	out = append(out, records...)
	return append(out, checkFigures(root, text)...), nil
}

// CheckEvidence proves what a run's folder is computed from: every record, and that
// result.json, when claimed is the text of one, follows from them. Nothing else of the
// folder is read, not even its own result.json.
func CheckEvidence(dir string, claimed []byte) ([]Problem, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	out, err := checkRecords(root)
	if err != nil {
		out = append(out, Problem{File: FileRecords, Text: err.Error()})
	}
	if len(out) > 0 || claimed == nil {
		return out, nil
	}
	out = schemaProblems(FileResult, Validate(claimed))
	again, err := build(root)
	if err != nil {
		return append(out, Problem{File: FileResult, Text: "can't be computed again: " + err.Error()}), nil
	}
	c := checkDocument(claimed, again)
	return append(out, c.problems...), nil
}

// split takes a joined error apart.
func split(file string, err error) []Problem {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return schemaProblems(file, err)
	}
	var out []Problem
	for _, e := range joined.Unwrap() {
		out = append(out, split(file, e)...)
	}
	return out
}

func schemaProblems(file string, err error) []Problem {
	if err == nil {
		return nil
	}
	var invalid *SchemaError
	if !errors.As(err, &invalid) {
		return []Problem{{File: file, Text: err.Error()}}
	}
	var out []Problem
	for _, f := range invalid.Faults[:min(len(invalid.Faults), maxProblems)] {
		out = append(out, Problem{file, f.Pointer, f.Text})
	}
	return out
}

// checkRecords looks at every record by itself and for numbers given twice.
func checkRecords(root *os.Root) ([]Problem, error) {
	if !exists(root, FileRecords) {
		return nil, nil
	}
	f, err := OpenPlain(root, FileRecords)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Problem
	seen := map[int]bool{} // 16 bytes a request
	line := 0
	for r, err := range record.Read[record.Record](f, FileRecords) {
		line++
		if err != nil {
			var at *record.LineError
			if errors.As(err, &at) {
				return append(out, Problem{FileRecords, strconv.Itoa(at.Line), at.Err.Error()}), nil
			}
			return out, err
		}
		if len(out) >= maxProblems {
			continue
		}
		if err := r.Check(); err != nil {
			out = append(out, Problem{FileRecords, strconv.Itoa(line), err.Error()})
		}
		if seen[r.Asked.Num] {
			out = append(out, Problem{FileRecords, strconv.Itoa(line), fmt.Sprintf("request number %d occurs twice", r.Asked.Num)})
		}
		seen[r.Asked.Num] = true
	}
	return out, nil
}

// checkFigures computes the document again and compares it with the stored one.
func checkFigures(root *os.Root, stored []byte) []Problem {
	again, err := build(root)
	if err != nil {
		return []Problem{{File: FileResult, Text: "can't be computed again: " + err.Error()}}
	}
	c := checkDocument(stored, again)
	out := slices.Concat(c.problems, checkAIPerf(root, again, c.strict))
	if n, ok := lines(root, FileAIPerfRecords); ok && again.InferenceX != nil && n != again.InferenceX.RequestAccounting.RecordsTotal {
		out = append(out, Problem{File: FileAIPerfRecords, Text: fmt.Sprintf("has %d lines, the records make %d", n, again.InferenceX.RequestAccounting.RecordsTotal)})
	}
	return out
}

// checkDocument compares a stored document with the one computed again.
func checkDocument(stored []byte, again *Document) (c comparison) {
	c.file = FileResult
	var was, is any
	if err := json.Unmarshal(stored, &was); err != nil {
		c.report("", "%v", err)
		return c
	}
	text, err := encode(again)
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err != nil {
		c.report("", "computed again: %v", err)
		return c
	}
	c.strict = sameSchema(was)
	c.compare("", was, is)
	return c
}

// checkAIPerf compares profile_export_aiperf.json with the document it is made of.
func checkAIPerf(root *os.Root, d *Document, strict bool) []Problem {
	stored, err := readDocument(root, FileAIPerf)
	if err != nil {
		return []Problem{{File: FileAIPerf, Text: err.Error()}}
	}
	text, err := d.AIPerf()
	if err != nil {
		return []Problem{{File: FileAIPerf, Text: "computed again: " + err.Error()}}
	}
	var was, is any
	if err := errors.Join(json.Unmarshal(stored, &was), json.Unmarshal(text, &is)); err != nil {
		return []Problem{{File: FileAIPerf, Text: err.Error()}}
	}
	c := comparison{file: FileAIPerf, strict: strict}
	c.compare("", was, is)
	return c.problems
}

// sameSchema is false for a document of another schema version: figures that
// were added since may then be missing in it.
func sameSchema(doc any) bool {
	top, _ := doc.(map[string]any)
	return top["schema_version"] == SchemaVersion
}

// comparison walks two JSON values. Numbers may differ by rounding.
type comparison struct {
	file     string
	strict   bool // what was added is a fault too
	problems []Problem
}

// tolerance is relative above 1 and absolute below: processors that fuse
// multiplication and addition round the last digits differently.
const tolerance = 1e-9

func (c *comparison) report(at, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{c.file, at, fmt.Sprintf(format, args...)})
	}
}

func (c *comparison) compare(at string, was, is any) {
	switch was := was.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok {
			c.report(at, "does not follow from the records")
			return
		}
		c.compareObjects(at, was, is)
	case []any:
		is, ok := is.([]any)
		if !ok || len(was) != len(is) {
			c.report(at, "has %d entries, the records give %d", len(was), len(is))
			return
		}
		for i := range was {
			c.compare(at+"/"+strconv.Itoa(i), was[i], is[i])
		}
	case float64:
		n, ok := is.(float64)
		if !ok || math.Abs(was-n) > tolerance*max(math.Abs(was), math.Abs(n), 1) {
			c.report(at, "is %v, the records give %v", was, is)
		}
	default:
		if was != is {
			c.report(at, "is %v, the records give %v", was, is)
		}
	}
}

func (c *comparison) compareObjects(at string, was, is map[string]any) {
	keys := make([]string, 0, len(was)+len(is))
	for k := range was {
		keys = append(keys, k)
	}
	for k := range is {
		if _, ok := was[k]; !ok && c.strict {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		pointer := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
		a, inWas := was[k]
		b, inIs := is[k]
		switch {
		case !inWas:
			c.report(pointer, "is missing, the records give it")
		case !inIs:
			c.report(pointer, "does not follow from the records")
		default:
			c.compare(pointer, a, b)
		}
	}
}

// lines counts line feeds; false when the file can't be read.
func lines(root *os.Root, name string) (int, bool) {
	f, err := OpenPlain(root, name)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	n, buf := 0, make([]byte, 256<<10)
	for {
		k, err := f.Read(buf)
		for _, c := range buf[:k] {
			if c == '\n' {
				n++
			}
		}
		if err != nil {
			return n, err == io.EOF
		}
	}
}
