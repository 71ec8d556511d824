package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/publish/store"
	"github.com/org/agentx-action/pkg/publish/stranger"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// compareAnew compares the two sides in artifacts of strangers, which were rebuilt, as
// the job itself would have. Without a noise floor, since none can be believed. The error
// is a refusal of the artifacts; where nothing can be compared, the run says why. bases
// are the folders of the base's runs.
func compareAnew(all []seen) (bases []string, err error) {
	var s sides
	var heads []string
	for _, one := range all {
		switch {
		case one.base:
			bases = append(bases, one.Dir)
		case strings.HasSuffix(one.Dir, "-"+sideHead):
			heads = append(heads, one.Dir)
		}
	}
	if len(bases) == 0 {
		return nil, nil
	}
	head := slices.IndexFunc(all, func(one seen) bool { return !one.base })
	if why := uneven(all); why != "" {
		if head >= 0 {
			all[head].uncompared = why
		}
		return bases, nil
	}
	if s.head, err = loadRuns(heads); err != nil {
		return bases, err
	}
	if s.base, err = loadRuns(bases); err != nil {
		return bases, err
	}
	o := compare.Options{Axis: slices.Clone(compare.DefaultAxis)}
	if all[head].Document.Engine.Driver == driverProcess {
		o.Axis = append(o.Axis, "engine_args") // as alternate does with two commands
	}
	if err := s.fixed(nil, nil, &o); err != nil {
		return bases, err
	}
	for _, r := range slices.Concat(s.head, s.base) {
		r.Where = filepath.Base(r.Where) // the same wherever they were unpacked
		if r.Doc.EndedAt.After(o.CreatedAt) {
			o.CreatedAt = r.Doc.EndedAt // the same whenever they are published
		}
	}
	if all[head].comparison, err = stranger.Compare(s.head, s.base, o); err != nil {
		return bases, err
	}
	_, err = writeComparison(all[head].comparison, all[head].Dir, "")
	return bases, err
}

// uneven says why the parts of a job that alternates are not compared: where some are
// missing, those that are there could be the ones that somebody likes.
func uneven(all []seen) string {
	order := abba((len(all) + 3) / 4)
	names := map[string]bool{}
	for _, one := range all {
		names[filepath.Base(one.Dir)] = true
	}
	for i, n := range order {
		if name := fmt.Sprintf("%d-%s", i+1, []string{sideHead, sideBase}[n]); !names[name] {
			return fmt.Sprintf("the artifacts lack the part %s of head, base, base, head", name)
		}
	}
	if len(names) != len(order) {
		return "the artifacts hold other runs than those of head, base, base, head"
	}
	return ""
}

// unbelieved says why a run of strangers without a base in its artifacts has no
// comparison.
const unbelieved = "the artifacts hold no run of a base, and a comparison that came with them would be anybody's"

// compareStored compares each run with the newest accepted ones of the branch in the
// store, read with the publisher's rights. The comparison is told and not kept with the
// run, whose bytes in the store must not depend on when it was published.
func (p *publishCmd) compareStored(job *publication, all []seen) {
	for i := range all {
		one := &all[i]
		one.uncompared = unbelieved
		if one.repeat {
			continue
		}
		if p.Store == "" || p.CompareBranch == "" || p.CompareBranch == "none" {
			continue
		}
		comparison, err := p.againstStore(job, one)
		if err != nil { // of the store, whose words are ours
			fmt.Fprintln(job.err, "note: not compared:", job.secrets.Mask(err.Error()))
			one.uncompared = fmt.Sprintf("the store has no run of %s that this one could be held against; the log of the job that publishes says why", p.CompareBranch)
			continue
		}
		one.comparison, one.unkept, one.uncompared = comparison, true, ""
	}
}

func (p *publishCmd) againstStore(job *publication, one *seen) (*compare.Comparison, error) {
	head, err := compare.Load(one.Dir)
	if err != nil {
		return nil, err
	}
	owner, repo := job.workplace.github.Repo()
	of := store.Series{Owner: owner, Repo: repo, Cell: job.cellOf(*one, one.swept()), Ref: p.CompareBranch}
	if err := of.Validate(); err != nil {
		return nil, err
	}
	s := sides{head: []*compare.Run{head}}
	o := compare.Options{CreatedAt: time.Now()}
	if err := s.chooseBase([]string{strings.TrimRight(p.Store, "/") + "/" + of.String()}, &o, job.shelf(&p.s3Flags)); err != nil {
		return nil, err
	}
	if err := s.fixed(nil, nil, &o); err != nil {
		return nil, err
	}
	notes := withoutOddKeys(job, s.notes, &head.Doc.Identity)
	head.Where = "" // a folder of ours, for a moment
	comparison, err := stranger.Compare(s.head, s.base, o)
	if err == nil {
		comparison.Notes = append(notes, comparison.Notes...)
	}
	return comparison, err
}

// withoutOddKeys leaves notes on the choice of a base to the log that repeat a key with a
// name of the run's own which needs quotes: those who choose set none.
func withoutOddKeys(job *publication, notes []string, id *result.Identity) (kept []string) {
	hidden := 0
	for _, n := range notes {
		if slices.ContainsFunc(id.Pairs, func(p result.Pair) bool {
			return stranger.Odd(p.Key) && strings.Contains(n, compare.Printable(p.Key))
		}) {
			hidden++
			fmt.Fprintln(job.err, "note:", job.secrets.Mask(n))
			continue
		}
		kept = append(kept, n)
	}
	if hidden > 0 {
		kept = append(kept, "Why runs of the base were turned down stands in the log of the job that publishes.")
	}
	return kept
}
