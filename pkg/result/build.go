package result

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
	"github.com/org/agentx-action/pkg/result/validity"
)

// Sources are the observations of a run as JSON lines. A nil reader is an
// empty file.
type Sources struct {
	Records, Trees, Samples io.Reader
}

// WriteFacts writes run.json. Kind and versions are filled in, and user and
// query are taken off the engine's URL.
func WriteFacts(dir string, f *Facts) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	f.Kind, f.SchemaVersion = KindFacts, FactsSchemaVersion
	f.Engine.URL = withoutSecrets(f.Engine.URL)
	if f.MeasurementVersion == 0 {
		f.MeasurementVersion = MeasurementVersion
	}
	text, err := encode(f)
	if err != nil {
		return fmt.Errorf("%s: %w", FileFacts, err)
	}
	if err := ValidateFacts(text); err != nil {
		return fmt.Errorf("%s: %w", FileFacts, err)
	}
	return writeBytes(root, FileFacts, text)
}

// withoutSecrets keeps of a URL what says where the engine is.
func withoutSecrets(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Build computes the document of a run's folder from run.json and the three
// files of JSON lines; it writes nothing. A file of lines that doesn't exist is
// empty. A last line that a crash cut off is left out and becomes a finding.
func Build(dir string) (*Document, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return build(root)
}

func build(root *os.Root) (*Document, error) {
	text, err := readDocument(root, FileFacts)
	if err != nil {
		return nil, err
	}
	facts, err := DecodeFacts(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FileFacts, err)
	}
	var s Sources
	var hashed []*hashedFile
	for _, src := range []struct {
		name string
		to   *io.Reader
	}{{FileRecords, &s.Records}, {FileTrees, &s.Trees}, {FileSamples, &s.Samples}} {
		if !exists(root, src.name) {
			continue
		}
		f, err := OpenPlain(root, src.name)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:gocritic // three files, read below
		h := newHashedFile(src.name, f)
		hashed = append(hashed, h)
		*src.to = h
	}
	doc, err := Compute(facts, s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	doc.Evidence = append(doc.Evidence, File{FileFacts, int64(len(text)), hex.EncodeToString(sum[:])})
	for _, h := range hashed {
		file, err := h.rest()
		if err != nil {
			return nil, err
		}
		doc.Evidence = append(doc.Evidence, file)
	}
	return doc, nil
}

// hashedFile hashes what is read from it.
type hashedFile struct {
	io.Reader
	name string
	src  io.Reader
	hash hashWriter
}

func newHashedFile(name string, src io.Reader) *hashedFile {
	h := &hashedFile{name: name, src: src, hash: newHashWriter()}
	h.Reader = io.TeeReader(src, &h.hash)
	return h
}

// rest reads on to the end and gives the file's entry.
func (h *hashedFile) rest() (File, error) {
	if _, err := io.Copy(&h.hash, h.src); err != nil {
		return File{}, fmt.Errorf("%s: %w", h.name, err)
	}
	return h.hash.entry(h.name).File, nil
}

// Compute computes the document from facts and observations. The Evidence is
// left empty.
func Compute(facts *Facts, src Sources) (*Document, error) {
	figures, cut, err := summarize(facts.options(), src)
	if err != nil {
		return nil, err
	}
	d := &Document{
		Kind: KindResult, SchemaVersion: SchemaVersion, MeasurementVersion: facts.MeasurementVersion,
		Program: facts.Program, RunID: facts.RunID, Mode: facts.Mode,
		StartedAt: facts.StartedAt, EndedAt: facts.EndedAt, Command: facts.Command,
		Identity: facts.Identity(),
		Validity: validity.Judge(facts.evidence(figures, cut)),
		Scenario: facts.Scenario, Settings: facts.Settings, Corpus: facts.Corpus,
		Phases: facts.phaseTimes(), Client: Client{facts.Client, figures.Client},
		Engine: facts.Engine, GPUs: facts.GPUs, Telemetry: facts.Telemetry, Power: facts.power(figures.Run), Calibration: facts.Calibration, Outcome: facts.Outcome,
		Requests: figures.Requests, Errors: figures.Errors,
		Metrics:  Metrics{figures.Metrics, figures.Run, figures.Adjusted, figures.Warmup},
		Cache:    CacheAccounting{figures.Cache, engineCache(facts.Engine.Profiling)},
		Tokens:   figures.Tokens,
		Load:     figures.Load,
		Sessions: figures.Sessions, Coverage: figures.Coverage, InferenceX: figures.InferenceX, Fixed: figures.Fixed, Slices: figures.Slices,
	}
	if p, ok := facts.profiling(); ok && d.Fixed != nil {
		d.Fixed.Raw["benchmark_start_time_unix"] = unix(facts.OriginAt, p.Start)
		if p.End.Seen() {
			d.Fixed.Raw["benchmark_end_time_unix"] = unix(facts.OriginAt, p.End)
		}
	}
	if d.Errors == nil {
		d.Errors = []summary.ErrorGroup{}
	}
	return d, nil
}

// unix is a stamp in seconds since 1970, as InferenceX' power window wants it.
func unix(origin time.Time, at record.Stamp) float64 {
	return float64(origin.Add(time.Duration(at)).UnixMicro()) / 1e6
}

// summarize reads the observations. cut says that a last line was incomplete.
func summarize(opt summary.Options, src Sources) (f *summary.Figures, cut bool, err error) {
	b := summary.New(opt)
	if err := feed(src.Records, FileRecords, b.Record, &cut); err != nil {
		return nil, false, err
	}
	if err := feed(src.Trees, FileTrees, b.Tree, &cut); err != nil {
		return nil, false, err
	}
	if err := feed(src.Samples, FileSamples, b.Sample, &cut); err != nil {
		return nil, false, err
	}
	return b.Figures(), cut, nil
}

func feed[T any](r io.Reader, name string, to func(*T), cut *bool) error {
	if r == nil {
		return nil
	}
	for v, err := range record.Read[T](r, name) {
		if errors.Is(err, record.ErrCut) {
			*cut = true
			return nil
		}
		if err != nil {
			return err
		}
		to(v)
	}
	return nil
}

func (f *Facts) phaseTimes() []PhaseTimes {
	out := []PhaseTimes{}
	for _, p := range f.Phases {
		t := PhaseTimes{Phase: p, StartedAt: f.OriginAt.Add(time.Duration(p.Start))}
		if d, ok := p.End.Sub(p.Start); ok {
			end, s := f.OriginAt.Add(time.Duration(p.End)), d.Seconds()
			t.EndedAt, t.Seconds = &end, &s
		}
		out = append(out, t)
	}
	return out
}

// engineCache gives the engine's hit rates. Without the counters there is none.
func engineCache(c *Counters) *EngineCache {
	if c == nil {
		return nil
	}
	e := &EngineCache{
		Local:    engineShare(c.PrefixCacheHits, c.PrefixCacheQueries, c.Requests),
		External: engineShare(c.ExternalCacheHits, c.ExternalCacheQueries, c.Requests),
	}
	bySource := c.bySource()
	total := 0.0
	for _, n := range bySource {
		total += n
	}
	if total > 0 {
		e.BySource = map[string]float64{}
		for source, n := range bySource {
			e.BySource[source] = n / total
		}
	}
	if e.Local == nil && e.External == nil && e.BySource == nil {
		return nil
	}
	return e
}

// bySource are the prompt tokens by source. vLLM tells the tiers of its cache apart
// from what was computed; they take the place of its local and external hits.
func (c *Counters) bySource() map[string]float64 {
	computed, whole := c.PromptTokensBySource["local_compute"]
	switch {
	case len(c.CachedPromptTokensBySource) == 0:
		return c.PromptTokensBySource
	case !whole:
		return c.CachedPromptTokensBySource
	}
	out := map[string]float64{"local_compute": computed}
	for tier, n := range c.CachedPromptTokensBySource {
		out[tier] += n
	}
	return out
}

func engineShare(hits, queries, requests *float64) *summary.Share {
	if hits == nil || queries == nil || *queries <= 0 {
		return nil
	}
	s := &summary.Share{Unit: "tokens", Hit: *hits, Total: *queries, Rate: *hits / *queries}
	if requests != nil {
		s.Requests = int(*requests)
	}
	return s
}

// evidence gathers what the judgement rests on.
func (f *Facts) evidence(figures *summary.Figures, cut bool) validity.Evidence {
	e := validity.Evidence{
		Figures: figures, Scenario: f.Scenario.Name,
		Cancelled: f.Outcome.Cancelled, CancelledBy: f.Outcome.CancelledBy, RecordsCut: cut,
		DropsAllowed:     f.Scenario.DropsAllowed,
		SessionRouted:    f.Engine.SessionRouting != "",
		CountersExpected: f.Engine.MetricsExpected,
	}
	for _, v := range f.Scenario.Overridden {
		e.Overridden = append(e.Overridden, v.Setting)
	}
	e.OverflowLimit, e.CoverageRequired = deref(f.Scenario.OverflowLimit), deref(f.Scenario.CoverageRequired)
	if f.Mode == ModeAgentic {
		e.Concurrency = f.Settings.Concurrency
	}
	e.Start = window(f.Settings.StartMinRatio, f.Settings.StartMaxRatio)
	e.RuleStart = window(f.Scenario.StartMinRatio, f.Scenario.StartMaxRatio)
	if c := f.Corpus; c != nil {
		e.Dropped, e.PeakTokens = c.DroppedTotal(), c.PeakTokens
	}
	e.MaxModelLen, e.Replicas = deref(f.Engine.MaxModelLen), deref(f.Engine.Replicas)
	if f.GPUs != nil {
		e.ForeignGPUUsers = f.GPUs.ForeignUsers
	}
	if c := f.Engine.ColdStart; c != nil {
		e.ColdStart = &validity.ColdStart{PromptTokensBefore: c.PromptTokensBefore, OwnPromptTokens: c.OwnPromptTokens, Reset: c.Reset}
	}
	if c := f.Engine.Whole; c != nil {
		e.PromptTokens, e.GenerationTokens = c.PromptTokens, c.GenerationTokens
	}
	return e
}

func window(lo, hi *float64) *validity.Window {
	if lo == nil || hi == nil {
		return nil
	}
	return &validity.Window{Min: *lo, Max: *hi}
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
