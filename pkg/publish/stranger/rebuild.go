package stranger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/agentx-action/pkg/result"
)

// Bounds of what is taken from artifacts of strangers. Hours of a run at a high
// concurrency leave some 100 MB, and a record is 1 KB.
const (
	maxEvidence     = 512 << 20 // bytes, of all runs together
	maxEvidenceLine = 1 << 20
	maxClaimed      = 16 << 20 // bytes of one result.json
	maxRuns         = 40       // comparing takes time by the square of it
	maxBaselines    = 8        // of one run
)

// evidence are the files of a run that follow from no others. All that is told or kept
// of strangers is computed from them; the rest of their artifacts is not even copied.
var evidence = []string{result.FileFacts, result.FileRecords, result.FileTrees, result.FileSamples}

// Rules is the rule set that a run is judged by, whatever it says that it asks for.
type Rules func(*result.Facts) result.Scenario

// rebuild makes the runs in artifacts anew, in a folder of ours.
type rebuild struct {
	ctx   context.Context
	rules Rules
	left  int64 // bytes that may still be taken
}

// Rebuild makes every run of the folders dirs below from anew, under the same name below
// to. The error is a refusal of all of them, and repeats what stands in them in ASCII.
func Rebuild(ctx context.Context, dirs []string, from, to string, rules Rules) error {
	r := &rebuild{ctx: ctx, rules: rules, left: maxEvidence}
	return r.all(dirs, from, to)
}

func (r *rebuild) all(dirs []string, from, to string) error {
	if len(dirs) > maxRuns {
		return fmt.Errorf("they hold %d runs; more than %d of strangers are not looked at", len(dirs), maxRuns)
	}
	for _, dir := range dirs {
		name, err := filepath.Rel(from, dir)
		if err != nil {
			return err
		}
		switch err := r.run(dir, filepath.Join(to, name)); {
		case err == nil:
		case name == ".": // the only one
			return err
		default:
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// baselineName is what a run calls the folder of a baseline, or could.
var baselineName = regexp.MustCompile(`^` + result.FolderFixed + `[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`)

// run rebuilds one run, its baselines first: its manifest lists theirs. A baseline that
// has no result was cut off, and is left out as everywhere.
func (r *rebuild) run(from, to string) error {
	baselines := slices.DeleteFunc(result.Baselines(from), func(dir string) bool {
		_, err := os.Lstat(filepath.Join(dir, result.FileResult))
		return err != nil
	})
	if len(baselines) > maxBaselines {
		return fmt.Errorf("%d baselines; more than %d of strangers are not looked at", len(baselines), maxBaselines)
	}
	for _, dir := range baselines {
		name := filepath.Base(dir)
		if !baselineName.MatchString(name) {
			return fmt.Errorf("%s is no name of a baseline", strconv.QuoteToASCII(name))
		}
		doc, err := r.folder(dir, filepath.Join(to, name))
		if err == nil && doc.Mode != result.ModeFixed {
			err = errors.New("no fixed-length run")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	_, err := r.folder(from, to)
	return err
}

// folder copies the evidence of a folder, holds what came with it against it, and makes
// everything else of it.
func (r *rebuild) folder(from, to string) (*result.Document, error) {
	claimed, err := r.take(from, to)
	if err != nil {
		return nil, err
	}
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	if err := believable(to, claimed); err != nil {
		return nil, err
	}
	facts, err := result.ReadFacts(to)
	if err != nil {
		return nil, ascii(err.Error())
	}
	if err := ownWords(facts); err != nil {
		return nil, err
	}
	if rules := r.rules(facts); !reflect.DeepEqual(rules, facts.Scenario) {
		facts.Scenario = rules
		if err := result.WriteFacts(to, facts); err != nil {
			return nil, err
		}
	}
	return result.Finish(to)
}

// take copies the evidence, and gives the result.json that claims to be of it; nil when
// there is none.
func (r *rebuild) take(from, to string) (claimed []byte, err error) {
	src, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, err
	}
	for _, name := range evidence {
		if err := r.copy(src, name, to); err != nil && (name == result.FileFacts || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	f, err := result.OpenPlain(src, result.FileResult)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	claimed, err = io.ReadAll(io.LimitReader(f, maxClaimed+1))
	if err == nil && len(claimed) > maxClaimed {
		err = fmt.Errorf("larger than %d bytes", maxClaimed)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", result.FileResult, err)
	}
	return claimed, nil
}

// copy takes one file, line by line within the bounds.
func (r *rebuild) copy(src *os.Root, name, to string) (err error) {
	from, err := result.OpenPlain(src, name)
	if err != nil {
		return err
	}
	defer from.Close()
	out, err := os.OpenFile(filepath.Join(to, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	in, line := bufio.NewReaderSize(from, 64<<10), 0
	for {
		part, readErr := in.ReadSlice('\n')
		line, r.left = line+len(part), r.left-int64(len(part))
		switch {
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case line > maxEvidenceLine:
			return fmt.Errorf("%s: a line is longer than %d bytes, which no run writes", name, maxEvidenceLine)
		case r.left < 0:
			return fmt.Errorf("%s: all runs together have more than %d MiB of records; more of strangers is not looked at", name, maxEvidence>>20)
		}
		if _, err := out.Write(part); err != nil {
			return err
		}
		switch {
		case readErr == nil:
			line = 0
		case errors.Is(readErr, io.EOF):
			return nil
		case !errors.Is(readErr, bufio.ErrBufferFull):
			return fmt.Errorf("%s: %w", name, readErr)
		}
	}
}

// maxFaults bounds what is said of an artifact.
const maxFaults = 5

// believable refuses records that no run writes, and a result that does not follow from
// them: nothing of it would be told, but somebody wrote it by hand.
func believable(dir string, claimed []byte) error {
	problems, err := result.CheckEvidence(dir, claimed)
	if err != nil {
		return ascii(err.Error())
	}
	var errs []error
	for _, p := range problems[:min(len(problems), maxFaults)] {
		errs = append(errs, ascii(p.String()))
	}
	return errors.Join(errs...)
}

// ascii takes out of what is wrong with an artifact whatever could pass for words of ours.
func ascii(wrong string) error {
	return errors.New(strings.Trim(strconv.QuoteToASCII(wrong), `"`))
}

// Wanted are the names of the files that are looked at: the evidence, and the result that
// claims to follow from it.
func Wanted() []string { return append([]string{result.FileResult}, evidence...) }

// runIDs are what a run calls itself; comparisons repeat it.
var runIDs = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// ownWords refuses names that a run never makes up where they would be told as ours: its
// id, and the keys of the identity that have no dot.
func ownWords(facts *result.Facts) error {
	for key := range facts.ExtraIdentity {
		if !strings.Contains(key, ".") {
			return fmt.Errorf("%s: extra_identity has the key %s, which no run adds", result.FileFacts, strconv.QuoteToASCII(key[:min(len(key), 80)]))
		}
	}
	if !runIDs.MatchString(facts.RunID) {
		return fmt.Errorf("%s: the run's id is %s, which no run has", result.FileFacts, strconv.QuoteToASCII(facts.RunID[:min(len(facts.RunID), 80)]))
	}
	return nil
}
