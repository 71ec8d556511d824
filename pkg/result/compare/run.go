package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"unique"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// Run is one run as this package needs it: its document, and of every request
// of the measured phase the key and a few figures, about 150 bytes each.
type Run struct {
	Doc   *result.Document
	Where string // folder or address; may be empty

	requests []request
	index    map[key]int32
}

// key pairs the requests of two runs (decisions.md 26).
type key struct {
	trace, stream unique.Handle[string]
	pass, turn    int32
}

// request holds what is compared. NaN is "not measured".
type request struct {
	key
	lane      int32
	outcome   outcome
	ttftMs    float64
	itlMs     float64
	perTokMs  float64 // request latency over output tokens
	output    float64 // tokens
	uncached  float64 // prompt tokens that the engine had to compute
	lastToken record.Stamp
}

type outcome uint8

const (
	done outcome = iota
	failed
	left // censored or overflowed: in no figure
)

// Load reads the result.json and records.jsonl of a run's folder, each file once.
// A folder that is not the whole of a finished run is a FolderError.
func Load(dir string) (*Run, error) {
	doc, manifest, err := check(dir, func(name string) bool { return name == result.FileRecords })
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := result.OpenPlain(root, result.FileRecords)
	if err != nil {
		return nil, &FolderError{dir, NotWhole, err}
	}
	defer f.Close()
	hash := sha256.New()
	r := &Run{Doc: doc, Where: dir}
	read := r.readAll(narrow(io.TeeReader(f, hash), filepath.Join(dir, result.FileRecords)))
	// A cut last line and a fault end the reading early.
	if _, err := io.Copy(hash, f); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, result.FileRecords), err)
	}
	if err := r.verify(manifest, hex.EncodeToString(hash.Sum(nil))); err != nil {
		return nil, &FolderError{dir, NotWhole, err}
	}
	return r, read
}

// verify holds the hash of the records against the manifest's and the one in
// result.json, which a manifest made to fit does not change.
func (r *Run) verify(manifest *result.Manifest, sum string) error {
	if want, _ := manifest.Find(result.FileRecords); want.SHA256 != sum {
		return fmt.Errorf("%s: differs from the manifest (sha256 %s, want %s)", result.FileRecords, sum, want.SHA256)
	}
	for _, e := range r.Doc.Evidence {
		if e.Path == result.FileRecords && e.SHA256 != sum {
			return fmt.Errorf("%s: not the file that %s was computed from (sha256 %s, want %s)", result.FileRecords, result.FileResult, sum, e.SHA256)
		}
	}
	return nil
}

// NewRun takes a document and its records, which need not be in order.
func NewRun(doc *result.Document, records iter.Seq[*record.Record]) *Run {
	r := &Run{Doc: doc}
	for rec := range records {
		r.add(rec)
	}
	return r
}

func (r *Run) readAll(records iter.Seq2[*record.Record, error]) error {
	for rec, err := range records {
		switch {
		case errors.Is(err, record.ErrCut): // a crash; the result says so
			return nil
		case err != nil:
			return err
		}
		r.add(rec)
	}
	return nil
}

// line is a record without the parts that nothing here needs.
type line struct {
	Asked record.Asked `json:"asked"`
	Seen  struct {
		Outcome    record.Outcome `json:"outcome"`
		Sent       record.Stamp   `json:"sent_ns"`
		FirstToken record.Stamp   `json:"first_token_ns"`
		LastToken  record.Stamp   `json:"last_token_ns"`
		Usage      *record.Usage  `json:"usage"`
	} `json:"seen"`
}

func narrow(from io.Reader, name string) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		for l, err := range record.Read[line](from, name) {
			if err != nil {
				yield(nil, err)
				return
			}
			s := &l.Seen
			rec := record.Record{Asked: l.Asked, Seen: record.Seen{
				Outcome: s.Outcome, Sent: s.Sent, FirstToken: s.FirstToken, LastToken: s.LastToken, Usage: s.Usage,
			}}
			if !yield(&rec, nil) {
				return
			}
		}
	}
}

var (
	ttft, _     = record.MetricByKey("time_to_first_token")
	itl, _      = record.MetricByKey("inter_token_latency")
	perToken, _ = record.MetricByKey("e2e_latency_per_output_token")
)

// add keeps a request of the measured phase. Of two with one key the first counts.
func (r *Run) add(rec *record.Record) {
	a := &rec.Asked
	if a.Phase != record.PhaseProfiling || a.Kind == record.KindFixed {
		return
	}
	q := request{
		key:  key{unique.Make(a.TraceID), unique.Make(a.StreamID), int32(a.Pass), int32(a.Turn)},
		lane: int32(a.Lane), outcome: left, lastToken: rec.Seen.LastToken,
		ttftMs: math.NaN(), itlMs: math.NaN(), perTokMs: math.NaN(), output: math.NaN(), uncached: math.NaN(),
	}
	switch rec.Seen.Outcome {
	case record.OK:
		q.outcome = done
		r.measure(&q, rec)
	case record.Failed:
		q.outcome = failed
	}
	if r.index == nil {
		r.index = map[key]int32{}
	}
	if _, twice := r.index[q.key]; twice {
		return
	}
	r.index[q.key] = int32(len(r.requests))
	r.requests = append(r.requests, q)
}

func (r *Run) measure(q *request, rec *record.Record) {
	counting := r.Doc.Settings.Counting
	q.ttftMs, q.itlMs, q.perTokMs = positive(ttft, rec, counting), positive(itl, rec, counting), positive(perToken, rec, counting)
	if n, ok := rec.OutputTokens(); ok {
		q.output = float64(n)
	}
	off := r.Doc.Engine.PrefixCaching != nil && !*r.Doc.Engine.PrefixCaching
	if n, ok := rec.CachedTokens(); ok {
		q.uncached = float64(*rec.Seen.Usage.PromptTokens - n)
	} else if n, ok := rec.InputTokens(counting); ok && off {
		q.uncached = float64(n)
	}
}

// positive is a latency, or NaN where none above 0 was measured: a ratio needs one.
func positive(m record.Metric, rec *record.Record, c record.Counting) float64 {
	if v, ok := m.Of(rec, c); ok && v > 0 {
		return v
	}
	return math.NaN()
}

// allFailed reports that requests were measured and every one of them failed.
func (r *Run) allFailed() bool {
	p := &r.Doc.Requests.Profiling
	return p.OK == 0 && p.Errors > 0
}
