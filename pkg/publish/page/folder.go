package page

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/publish/chart"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/result/record"
)

// The files that a report adds to a folder.
const (
	File   = result.FileReport
	Charts = result.FolderCharts
)

// Options are what a report has beside the folder. The zero value is a report of the
// run alone.
type Options struct {
	// Head against base; the run is the head.
	Comparison *compare.Comparison
	// The run against its baseline; taken from the comparison when there is one.
	AgainstFixed []compare.AgainstFixed
	// Folder of the base's run, for pictures of both sides.
	Base string
}

// Written is what a report consists of.
type Written struct {
	// Files, relative to the folder.
	Files []string
	// Pictures that were not drawn, and why.
	Absent []*chart.Absent
	// What could not be read, in words.
	Notes []string
	// What in the folders, the base's included, is not as their runs left it, in words.
	Altered []string
}

// Report writes the page and its pictures into a finished run's folder, and a new
// manifest; that of a run in whose folder a baseline's lies is renewed with it. Files of an earlier report are replaced or removed. A folder that does
// not fit its manifest has its page too, because what is left of a run is worth a
// look; but the page says so, and the manifest stays, so that nothing altered gets a
// blessing.
func Report(dir string, o Options) (Written, error) {
	var out Written
	doc, err := result.Read(dir)
	if err != nil {
		return out, err
	}
	faults := altered(dir, "")
	out.Altered = faults
	if o.Base != "" {
		out.Altered = append(slices.Clone(faults), altered(o.Base, "the base: ")...)
	}
	in, err := gather(dir, doc, o, &out)
	if err != nil {
		return out, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return out, err
	}
	defer root.Close()
	// Whatever happens, what is there is whole: files are renamed into place. Until the
	// new manifest is there, the report's own files are all that the old one misses.
	parent := result.ParentOf(dir)
	err = in.write(root, &out)
	if len(faults) == 0 {
		err = errors.Join(err, result.WriteManifest(dir, doc.RunID), parent.Renew(ownFile))
	}
	return out, err
}

// maxAltered bounds the list of what was altered.
const maxAltered = 20

// altered says what of a folder does not fit its manifest, apart from what reports
// write.
func altered(dir, prefix string) (list []string) {
	_, err := result.VerifyBut(dir, ownFile)
	if err == nil {
		return nil
	}
	faults := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		faults = joined.Unwrap()
	}
	for i, f := range faults {
		if i == maxAltered {
			return append(list, fmt.Sprintf("%sand %d more", prefix, len(faults)-i))
		}
		list = append(list, prefix+strings.Join(strings.Fields(f.Error()), " "))
	}
	return list
}

// ownFile reports whether a file is a report's: that of the run, or that of a
// baseline below it, which has a manifest of its own.
func ownFile(name string) bool {
	if top, below, _ := strings.Cut(name, "/"); strings.HasPrefix(top, result.FolderFixed) {
		if below == result.FileManifest {
			return true
		}
		name = below
	}
	return name == File || strings.HasPrefix(name, Charts+"/")
}

// write writes the files.
func (in *Input) write(root *os.Root, out *Written) error {
	if err := root.Mkdir(Charts, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var errs []error
	for _, name := range chart.Names {
		i := slices.IndexFunc(in.Charts, func(c *chart.Chart) bool { return c.Name == name })
		for _, kind := range []string{".svg", ".png"} {
			file := path.Join(Charts, name+kind)
			if i < 0 {
				if err := root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
					errs = append(errs, err)
				}
				continue
			}
			draw := in.Charts[i].SVG
			if kind == ".png" {
				draw = in.Charts[i].PNG
			}
			if err := result.WriteAtomic(root, file, draw); err != nil {
				errs = append(errs, err)
				continue
			}
			out.Files = append(out.Files, file)
		}
	}
	if err := result.WriteAtomic(root, File, in.HTML); err != nil {
		return errors.Join(append(errs, err)...)
	}
	out.Files = append(out.Files, File)
	return errors.Join(errs...)
}

// gather reads what the page is made of.
func gather(dir string, doc *result.Document, o Options, out *Written) (*Input, error) {
	in := &Input{Document: doc, Comparison: o.Comparison, AgainstFixed: o.AgainstFixed}
	evidence := &chart.Evidence{Counting: doc.Settings.Counting}
	for _, p := range doc.Phases {
		if p.Name == record.PhaseProfiling {
			evidence.Start, evidence.End = p.Start, p.End
		}
	}
	rank := ranking{counting: doc.Settings.Counting}
	if s, ok := doc.Metrics.Request["inter_token_latency"]; ok {
		rank.itl = &s.P50
	}
	out.note(each(dir, result.FileRecords, func(r *record.Record) {
		_ = r.Check() // one in contradiction becomes a failed one, as in the result
		evidence.Record(r)
		rank.add(r)
	}))
	out.note(each(dir, result.FileTrees, evidence.Tree))
	in.Slowest = rank.slow()
	var baseTurns *result.Document
	series := sideSeries(dir, doc, "", false, out)
	if o.Base != "" {
		base, err := result.Read(o.Base)
		if err != nil {
			return nil, fmt.Errorf("the base: %w", err)
		}
		baseTurns = base
		series = append(series, sideSeries(o.Base, base, "base ", true, out)...)
	}
	in.draw(evidence, series, baseTurns)
	out.Absent, out.Notes = in.Absent, slices.Concat(out.Notes, in.Notes)
	in.Notes, in.Altered = out.Notes, out.Altered
	return in, nil
}

func (w *Written) note(err error) {
	if err != nil {
		w.Notes = append(w.Notes, strings.Join(strings.Fields(err.Error()), " "))
	}
}

// each reads a file of lines; one that isn't there has none.
func each[T any](dir, name string, take func(*T)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a plain file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for v, err := range record.Read[T](f, name) {
		if err != nil {
			return err
		}
		take(v)
	}
	return nil
}

// maxFixed bounds how many baseline results of a folder are read.
const maxFixed = 100

// sideSeries are the points of one side: its run, and the results of the
// fixed-length baseline in folders below it, by shape.
func sideSeries(dir string, doc *result.Document, prefix string, base bool, out *Written) []chart.Series {
	var list []chart.Series
	add := func(name string, fixed bool, d *result.Document) {
		p, ok := chart.PointOf(d)
		if !ok {
			return
		}
		i := slices.IndexFunc(list, func(s chart.Series) bool { return s.Name == name })
		if i < 0 {
			i = len(list)
			list = append(list, chart.Series{Name: name, Fixed: fixed, Base: base})
		}
		list[i].Points = append(list[i].Points, p)
	}
	add(prefix+nameOf(doc), doc.Mode == result.ModeFixed, doc)
	entries, err := os.ReadDir(dir)
	out.note(err)
	read := 0
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), "fixed") || read == maxFixed {
			continue
		}
		read++
		d, err := result.Read(filepath.Join(dir, e.Name()))
		if err != nil {
			out.note(fmt.Errorf("%s: %w", e.Name(), err))
			continue
		}
		add(prefix+nameOf(d), true, d)
	}
	return list
}

func nameOf(d *result.Document) string {
	if d.Mode != result.ModeFixed {
		return "agentic"
	}
	if s := &d.Settings; s.FixedISL != nil && s.FixedOSL != nil {
		return fmt.Sprintf("fixed %d/%d", *s.FixedISL, *s.FixedOSL)
	}
	return "fixed"
}
