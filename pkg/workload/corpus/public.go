package corpus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// PublicSet is one of the published corpora. Source: spec/replay.md §1.5, §6.1.
type PublicSet struct {
	Name    string // as benchmark commands spell it
	Dataset string // on Hugging Face
	Allowed bool   // for a comparable run
	Rolling bool   // has no date: what it means changes, so that runs on it cannot be compared
}

const (
	namePrefix    = "semianalysis_cc_traces_weka_"
	datasetPrefix = "semianalysisai/cc-traces-weka-"
	current       = "062126"
)

// PublicSets lists the sets, each followed by its variant of at most 256,000
// tokens of context.
func PublicSets() []PublicSet {
	var sets []PublicSet
	for _, s := range []struct{ name, dataset string }{
		{"with_subagents_060226", "with-subagents-060226"},
		{"with_subagents_060526", "with-subagents-060526"},
		{"with_subagents_060826", "with-subagents-060826"},
		{"061326", "061326"},
		{"061526", "061526"},
		{current, current},
		{"with_subagents", current},
	} {
		set := PublicSet{Name: namePrefix + s.name, Dataset: datasetPrefix + s.dataset, Allowed: true, Rolling: s.name == "with_subagents"}
		short := set
		short.Name += "_256k"
		short.Dataset += "-256k"
		sets = append(sets, set, short)
	}
	return append(sets, PublicSet{Name: namePrefix + "no_subagents", Dataset: datasetPrefix + "no-subagents-051826"})
}

// Public finds a set by its name or its dataset's. Hyphens and underscores are
// alike, as they are in AIPerf's flags, where 256k may also be written 256-k.
func Public(name string) (PublicSet, error) {
	plain := func(s string) string {
		s = strings.NewReplacer("-", "_", "256_k", "256k", "256-k", "256k").Replace(strings.ToLower(s))
		return strings.TrimPrefix(s, "semianalysisai/")
	}
	sets := PublicSets()
	for _, s := range sets {
		if plain(name) == plain(s.Name) || plain(name) == plain(s.Dataset) && !s.Rolling {
			return s, nil
		}
	}
	var names []string
	for _, s := range sets {
		names = append(names, s.Name)
	}
	return PublicSet{}, fmt.Errorf("no public corpus is called %q; known are %s", name, strings.Join(names, ", "))
}

// File is where the set's traces belong: a folder of its name in $AGENTX_CACHE,
// or else in agentx/corpora of the user's cache.
func (s PublicSet) File() (string, error) {
	folder := os.Getenv("AGENTX_CACHE")
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no folder for public corpora: %w; set AGENTX_CACHE", err)
		}
		folder = filepath.Join(cache, "agentx", "corpora")
	}
	return filepath.Join(folder, s.Name, "traces.jsonl"), nil
}

// Open reads the set from the cache, where it is fetched to when it isn't there.
// What fails of the fetching is a [FetchError].
func (s PublicSet) Open(ctx context.Context, o Options, f Fetching) (*Corpus, error) {
	if err := o.check(); err != nil {
		return nil, err // before gigabytes are fetched
	}
	file, err := s.present(ctx, f)
	if err != nil {
		return nil, err
	}
	c, err := Open([]string{file}, o)
	if err != nil {
		return nil, err
	}
	c.Name = s.Name
	if from, ok := readOrigin(file); ok && from.SHA256 == c.Files[0].SHA256 {
		c.Revision = from.Revision
	}
	return c, nil
}

// Missing tells what a run would have to fetch; empty when the set is in the cache.
func (s PublicSet) Missing() (string, error) {
	file, err := s.File()
	if err != nil || there(file) {
		return "", err
	}
	if offline() {
		return "", s.notHere(file)
	}
	h, err := newHub()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The corpus %s is not on this machine: %s is fetched to %s", s.Name, h.address(s.Dataset, mainRevision), file), nil
}

// there reports whether a file is, or something that is no file, which reading it
// will say.
func there(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

func (s PublicSet) notHere(file string) error {
	return fmt.Errorf("the corpus %s is not on this machine, and HF_HUB_OFFLINE is set: %s", s.Name, s.byHand(file))
}

// byHand is what a person can do who has another way to the file.
func (s PublicSet) byHand(file string) string {
	return fmt.Sprintf("put traces.jsonl of https://huggingface.co/datasets/%s at %s, or set AGENTX_CACHE to the folder that holds %s/traces.jsonl", s.Dataset, file, s.Name)
}
