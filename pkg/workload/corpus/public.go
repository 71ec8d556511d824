package corpus

import (
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

// Open reads the set from the cache. It fetches nothing.
func (s PublicSet) Open(o Options) (*Corpus, error) {
	file, err := s.File()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the corpus %s is not on this machine; put traces.jsonl of https://huggingface.co/datasets/%s at %s, "+
			"or set AGENTX_CACHE to the folder that holds %s/traces.jsonl", s.Name, s.Dataset, file, s.Name)
	}
	c, err := Open([]string{file}, o)
	if err != nil {
		return nil, err
	}
	c.Name = s.Name
	return c, nil
}
