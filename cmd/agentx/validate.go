package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/agentx-action/pkg/publish/store"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/run"
)

// validateCmd checks artifacts.
type validateCmd struct {
	Path string `arg:"" help:"Folder of a run's artifacts, of a sweep's, or one document: result.json, run.json, comparison.json, a noise floor, a manifest; or a run in a store."`

	s3Flags
}

// Run is called by the parser.
func (v *validateCmd) Run(c *console) error {
	if store.IsRemote(v.Path) {
		return v.stored(c)
	}
	name := v.Path
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return &run.UsageError{Err: err}
	case info.IsDir():
		return validateFolders(c.out, name)
	case filepath.Base(name) == result.FileResult: // a person means its folder
		return validateFolder(c.out, filepath.Dir(name), filepath.Dir(name))
	}
	return validateFile(c.out, name)
}

// stored checks a run as it lies in its store now. Runs that were fetched before say
// nothing of that.
func (v *validateCmd) stored(c *console) error {
	key, local, err := c.shelf(&v.s3Flags).one(v.Path)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "agentx-validate-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	dir := filepath.Join(temp, "run")
	err = store.Fetch(c.ctx, local.Store, key, dir, store.FetchOptions{})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return &run.UsageError{Err: err}
	case err != nil:
		return err
	}
	return validateFolder(c.out, dir, v.Path)
}

// validateFolders checks a run's folder, or those of the runs in it.
func validateFolders(out io.Writer, dir string) error {
	if compare.HoldsRun(dir) {
		return validateFolder(out, dir, dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	found := 0
	for _, e := range entries {
		if sub := filepath.Join(dir, e.Name()); e.IsDir() && compare.HoldsRun(sub) {
			found++
			errs = append(errs, validateFolder(out, sub, sub))
		}
	}
	if found == 0 {
		return validateFolder(out, dir, dir) // and say what is missing
	}
	return errors.Join(errs...)
}

// validateFolder checks a run, by the name that it is known to the user by.
func validateFolder(out io.Writer, dir, name string) error {
	problems, err := result.Check(dir)
	if err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(out, p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s: the artifacts are not whole; problems: %d", name, len(problems))
	}
	doc, err := result.Read(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: the result fits its schema, its files and its records\n", name)
	valid := "not judged"
	if doc.Validity.SubmissionValid != nil {
		valid = fmt.Sprint(*doc.Validity.SubmissionValid)
	}
	fmt.Fprintf(out, "submission_valid: %s, trusted: %v\n", valid, doc.Validity.Trusted)
	return nil
}

// maxDocument bounds a document that is read, in bytes.
const maxDocument = 64 << 20

// validateFile holds one document against the schema of its kind.
func validateFile(out io.Writer, name string) error {
	text, err := readBounded(name, maxDocument)
	if err != nil {
		return err
	}
	kind, err := result.ValidateAny(text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(out, "%s: fits the schema of %s\n", name, strings.TrimPrefix(kind, "agentx."))
	return nil
}
