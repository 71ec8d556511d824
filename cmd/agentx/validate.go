package main

import (
	"fmt"
	"path/filepath"

	"github.com/org/agentx-action/pkg/result"
)

// validateCmd checks a folder of artifacts.
type validateCmd struct {
	Path string `arg:"" help:"Folder of a run's artifacts, or a run in a store."`

	s3Flags
}

// Run is called by the parser.
func (v *validateCmd) Run(c *console) (err error) {
	if v.Path, err = c.shelf(&v.s3Flags).folder(v.Path); err != nil {
		return err
	}
	if filepath.Base(v.Path) == result.FileResult { // a person means its folder
		v.Path = filepath.Dir(v.Path)
	}
	problems, err := result.Check(v.Path)
	if err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(c.out, p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s: the artifacts are not whole; problems: %d", v.Path, len(problems))
	}
	doc, err := result.Read(v.Path)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s: the result fits its schema, its files and its records\n", v.Path)
	valid := "not judged"
	if doc.Validity.SubmissionValid != nil {
		valid = fmt.Sprint(*doc.Validity.SubmissionValid)
	}
	fmt.Fprintf(c.out, "submission_valid: %s, trusted: %v\n", valid, doc.Validity.Trusted)
	return nil
}
