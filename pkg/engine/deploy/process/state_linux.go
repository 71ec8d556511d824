package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// state is the file of one engine that runs: what a later run needs to know to
// sweep it.
type state struct {
	Name  string `json:"name"`
	Owner string `json:"owner"` // as deploy.Owner writes it
	// PID and Start of the engine's first process; 0 while it is being started.
	PID   int    `json:"pid"`
	Start string `json:"start_ticks"`
	Port  int    `json:"port"`
	Tmp   string `json:"tmp,omitzero"` // its temporary folder, "" where it has none of ours
}

// stateDir is where the files are, made if need be.
func (d *Driver) stateDir() (string, error) {
	dir := d.StateDir
	if dir == "" {
		base := os.Getenv("XDG_STATE_HOME")
		if home, err := os.UserHomeDir(); base == "" && err == nil {
			base = filepath.Join(home, ".local", "state")
		}
		if base == "" {
			base = filepath.Join(os.TempDir(), fmt.Sprintf("state-%d", os.Getuid()))
		}
		dir = filepath.Join(base, "agentx", "engines")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("no place to note which engine runs: %w; set XDG_STATE_HOME to a folder that can be written", err)
	}
	return dir, nil
}

// fileName of an engine's state; a name of ours has no separator in it.
func fileName(dir, name string) string { return filepath.Join(dir, name+".json") }

var nameOfOurs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func (s state) save(dir string) error {
	text, err := json.Marshal(s, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), fileName(dir, s.Name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// states are the files that can be read; of the others nothing is known, so they
// stay.
func states(dir string) []state {
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	var all []state
	for _, name := range names {
		s, err := readState(name)
		if err == nil {
			all = append(all, s)
		}
	}
	return all
}

func readState(name string) (state, error) {
	f, err := os.Open(name)
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	const large = 64 << 10
	text, err := io.ReadAll(io.LimitReader(f, large))
	if err != nil {
		return state{}, err
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return state{}, err
	}
	if !nameOfOurs.MatchString(s.Name) || s.Name != strings.TrimSuffix(filepath.Base(name), ".json") {
		return state{}, fmt.Errorf("%s is not the file of engine %q", name, s.Name)
	}
	if _, err := deploy.ParseOwner(s.Owner); err != nil {
		return state{}, err
	}
	return s, nil
}
