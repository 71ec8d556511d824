package main

import (
	"fmt"

	"github.com/org/agentx-action/pkg/result"
)

// validateCmd checks a folder of artifacts.
type validateCmd struct {
	Path string `arg:"" help:"Folder of a run's artifacts."`
}

// Run is called by the parser.
func (v *validateCmd) Run(c *console) error {
	problems, err := result.Check(v.Path)
	if err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(c.out, p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s: %d problems", v.Path, len(problems))
	}
	doc, err := result.Read(v.Path)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s: the result fits its schema, its files and its records\n", v.Path)
	fmt.Fprintf(c.out, "submission_valid: %v, trusted: %v\n", doc.Validity.Valid(), doc.Validity.Trusted)
	return nil
}
