package stranger

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Bounds of artifacts that strangers made.
const (
	maxArtifactFiles = 10_000
	maxArtifactBytes = 8 << 30
	// maxRatio is how much a file may grow when it is taken out; records of requests
	// shrink to a twentieth.
	maxRatio = 200
)

// Unzip takes a .zip apart into a folder: all of it, or the files that are wanted by their
// name. Its own words on sizes are not believed: what comes out is counted.
func Unzip(name, dir string, wanted ...string) error {
	z, err := zip.OpenReader(name)
	if err != nil {
		return fmt.Errorf("no .zip: %w", err)
	}
	defer z.Close()
	if len(z.File) > maxArtifactFiles {
		return fmt.Errorf("more than %d files", maxArtifactFiles)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(maxArtifactBytes)
	if len(wanted) > 0 {
		left = maxEvidence + maxRuns*maxClaimed
	}
	for _, f := range z.File {
		clean := strings.TrimSuffix(f.Name, "/")
		switch {
		case !fs.ValidPath(clean) || clean == "." || strings.ContainsAny(clean, "\\\x00"):
			return fmt.Errorf("%s is no path inside a folder", strconv.QuoteToASCII(f.Name))
		case len(wanted) > 0 && !slices.Contains(wanted, path.Base(clean)):
		case f.Mode().IsDir():
			err = root.MkdirAll(clean, 0o755)
		case !f.Mode().IsRegular():
			return fmt.Errorf("%s is no plain file", strconv.QuoteToASCII(f.Name))
		default:
			var n int64
			n, err = takeOut(root, f, clean, left)
			left -= n
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func takeOut(root *os.Root, f *zip.File, name string, left int64) (n int64, err error) {
	most := min(left, int64(min(f.CompressedSize64, maxArtifactBytes))*maxRatio+1<<20)
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return 0, err
	}
	from, err := f.Open()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", strconv.QuoteToASCII(name), err)
	}
	defer from.Close()
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(to, io.LimitReader(from, most+1))
	err = errors.Join(err, to.Close())
	switch {
	case err != nil:
		return n, fmt.Errorf("%s: %w", strconv.QuoteToASCII(name), err)
	case n > most:
		return n, fmt.Errorf("%s grows beyond every measure: a .zip to do harm", strconv.QuoteToASCII(name))
	}
	return n, nil
}
