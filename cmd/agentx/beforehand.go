package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/org/agentx-action/pkg/publish/store"
	"github.com/org/agentx-action/pkg/run"
)

// maxRounds bounds a job that alternates: four parts each.
const maxRounds = 100

// beforehand refuses what would show only when the hours are spent, and names what has
// no effect.
func (r *runCmd) beforehand(notes io.Writer) error {
	var errs errorList
	errs.add(r.storeFlags.refuse())
	switch {
	case r.Rounds < 1 || r.Rounds > maxRounds:
		errs.add(fmt.Errorf("--rounds %d: must be 1 to %d", r.Rounds, maxRounds))
	case r.Rounds > 1 && !r.alternates():
		fmt.Fprintln(notes, "note: without effect: --rounds, since there is no base in this job: give --base-image, --base-url or --base-engine-command")
	}
	if r.NoFixed && len(r.FixedShapes) > 0 && !slices.Equal(r.FixedShapes, []string{"none"}) {
		fmt.Fprintln(notes, "note: without effect: --fixed-shapes, since --no-fixed leaves the baseline out")
	}
	if err := errs.join(); err != nil {
		return &run.UsageError{Err: err}
	}
	return nil
}

// askStore warns of a store that nothing could be put into as things are. It is no
// failure: credentials and buckets may come while the run lasts.
func (r *runCmd) askStore(c *console, w *workplace) {
	if r.Store == "" || w == nil || w.strangers() {
		return // nothing is uploaded, which is said in its place
	}
	err := store.CheckCredentials(c.ctx, r.Store, r.storeFlags.options())
	if err == nil {
		err = store.CheckReachable(c.ctx, r.Store, r.storeFlags.options())
	}
	if err != nil && c.ctx.Err() == nil {
		c.warn(w, "The result can't be uploaded as things are; the run goes on, and asks again at its end: %s", c.secrets.Mask(err.Error()))
	}
}

// warn tells whoever looks at the job: by an annotation in GitHub's, by a note elsewhere.
func (c *console) warn(w *workplace, format string, args ...any) {
	if w.github.Actions {
		w.Warningf(format, args...)
		return
	}
	fmt.Fprintf(c.err, "note: "+format+"\n", args...)
}
