package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/org/agentx-action/pkg/result"
)

// fileLock keeps two runs out of one folder.
const fileLock = ".lock"

// claim makes the artifact folder a run's own. An earlier run in it is moved
// beside it and never lost; a run that is still going on is an error. release
// gives the folder free.
func claim(dir string) (release func(), moved string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", fmt.Errorf("the artifact folder cannot be made: %w", err)
	}
	release, err = lock(filepath.Join(dir, fileLock))
	if err != nil {
		return nil, "", fmt.Errorf("another run is writing into %s: give --output-artifact-dir another folder (%w)", dir, err)
	}
	if !holdsRun(dir) {
		return release, "", nil
	}
	moved, err = rotate(dir)
	if err != nil {
		release()
		return nil, "", fmt.Errorf("the earlier run in %s cannot be moved away: %w", dir, err)
	}
	return release, moved, nil
}

// foldersOf are the folders of a run below its folder.
func foldersOf(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && result.IsFolder(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

func holdsRun(dir string) bool {
	for _, name := range result.Files() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// rotate moves a run's files and folders into the first free folder of
// the same name with a number.
func rotate(dir string) (string, error) {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.%d", filepath.Clean(dir), n)
		if err := os.Mkdir(to, 0o755); errors.Is(err, os.ErrExist) {
			continue
		} else if err != nil {
			return "", err
		}
		for _, name := range append(foldersOf(dir), result.Files()...) {
			err := os.Rename(filepath.Join(dir, name), filepath.Join(to, name))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return "", err
			}
		}
		return to, nil
	}
}

// lateFile takes writes before its file is known, so that nothing is written
// into a folder until the run owns it.
type lateFile struct {
	mu     sync.Mutex
	before bytes.Buffer
	file   *os.File
}

func (l *lateFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return l.before.Write(p)
	}
	return l.file.Write(p)
}

// open gives the writer its file.
func (l *lateFile) open(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	l.file = f
	_, err = f.Write(l.before.Bytes())
	l.before = bytes.Buffer{}
	return err
}

func (l *lateFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
	}
}
