package compare

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/org/agentx-action/pkg/result"
)

// FolderError says why a folder is not the whole artifact folder of a finished
// run, and what to do. Why is NoRun, Unfinished or NotWhole.
type FolderError struct {
	Dir string
	Why Reason
	Err error // what was found; nil where Why says it all
}

func (e *FolderError) Error() string {
	switch e.Why {
	case Unfinished:
		return fmt.Sprintf("%s: the run did not finish (no %s, which is written last): it was cut off, or is still going on; wait for it, or measure again", e.Dir, result.FileManifest)
	case NotWhole:
		return fmt.Sprintf("%s is not as its run left it (%s): it was changed, or copied in part; copy the whole folder again, or measure again", e.Dir, firstOf(e.Err))
	}
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Dir, e.Err)
	}
	return fmt.Sprintf("%s holds no run; give the folder of a run's artifacts, the one with %s in it", e.Dir, result.FileManifest)
}

func (e *FolderError) Unwrap() error { return e.Err }

// firstOf is one of joined errors, and how many more there are.
func firstOf(err error) string {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return err.Error()
	}
	all := joined.Unwrap()
	if len(all) == 1 {
		return firstOf(all[0])
	}
	return fmt.Sprintf("%s, and %d more", firstOf(all[0]), len(all)-1)
}

// HoldsRun reports whether a folder has a run's files in it, finished or not. A
// comparison or a page may also lie in a folder of runs.
func HoldsRun(dir string) bool {
	return slices.ContainsFunc(result.Files(), func(name string) bool {
		if name == result.FileComparison || name == result.FileReport {
			return false
		}
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// Check reads the result.json of a run's folder and holds every file against the
// manifest. A folder that is not the whole of a finished run is a FolderError.
func Check(dir string) (*result.Document, error) {
	doc, _, err := check(dir, nil)
	return doc, err
}

// check passes over the file that but is true of.
func check(dir string, but func(name string) bool) (*result.Document, *result.Manifest, error) {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, &FolderError{dir, NoRun, errors.New("no such folder")}
	case err != nil:
		return nil, nil, &FolderError{dir, NoRun, err}
	case !info.IsDir():
		return nil, nil, &FolderError{dir, NoRun, errors.New("not a folder")}
	case !HoldsRun(dir):
		return nil, nil, &FolderError{dir, NoRun, nil}
	}
	// The first question, so that the answer is the same whatever else is missing.
	if _, err := os.Lstat(filepath.Join(dir, result.FileManifest)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &FolderError{dir, Unfinished, nil}
	}
	manifest, err := result.VerifyBut(dir, but)
	if err != nil {
		return nil, nil, &FolderError{dir, NotWhole, err}
	}
	doc, err := result.Read(dir)
	if err != nil {
		return nil, nil, &FolderError{dir, NotWhole, err}
	}
	return doc, manifest, nil
}
