package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// Check says what is wrong with a reference and with options, as far as it shows
// without asking anybody: hours of measuring are not to end in a misspelt address.
func Check(ref string, o Options) error {
	scheme, _, ok := strings.Cut(ref, "://")
	switch {
	case ref == "":
		return errors.New("the store has no name; give s3://bucket/prefix or a folder")
	case strings.ContainsFunc(ref, unicode.IsControl):
		return fmt.Errorf("store %q: a line end or another control character is in it; give s3://bucket/prefix or a folder, in one line", printable(ref))
	case IsRemote(ref):
		name, _, err := splitS3(ref)
		if err != nil {
			return err
		}
		if err := o.check(); err != nil {
			return fmt.Errorf("store %s%s: %w", schemeS3, name, err)
		}
	case misspeltS3.MatchString(ref):
		return fmt.Errorf("store %q: no bucket; give s3://bucket/prefix, with two slashes, or ./%s for a folder of that name", printable(ref), printable(ref))
	case ok:
		return fmt.Errorf("store %q: %s:// is not known; give s3://bucket/prefix or a folder", printable(scheme), printable(scheme))
	}
	return nil
}

// misspeltS3 was meant for a bucket, and would be taken for a folder.
var misspeltS3 = regexp.MustCompile(`^(?i:s3):(/?$|/?[^/])`)

// CheckWritable puts a file into a store that is a folder, and takes it and the folders
// that it made away again. Of others it knows nothing ahead.
func CheckWritable(ref string) error {
	if IsRemote(ref) {
		return nil
	}
	var err error
	for range triesOfFolder {
		if err = tryFolder(ref); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		// Another job that tries the same folder has just taken it away.
	}
	if err != nil {
		return fmt.Errorf("store %s: nothing can be put there: %w; give a folder that can be made and written, or s3://bucket/prefix", printable(ref), err)
	}
	return nil
}

const triesOfFolder = 8 // each uploader beside us looks for leftovers once

func tryFolder(dir string) error {
	var missing []string // the deepest first
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	defer func() {
		for _, made := range missing {
			_ = os.Remove(made) // where another has put something into it since, it stays
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".try-*"+tempSuffix)
	if err != nil {
		return err
	}
	_, err = file.WriteString("x") // a full disk takes an empty file
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// reachableWithin bounds the question whether a store answers.
const reachableWithin = 15 * time.Second

// CheckReachable asks a store for a listing, as an upload begins with: a bucket that is
// not there, keys that are not accepted and a wrong region show.
func CheckReachable(ctx context.Context, ref string, o Options) error {
	if !IsRemote(ref) {
		return nil
	}
	o.MaxAttempts = 2
	s, err := Open(ctx, ref, o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachableWithin)
	defer cancel()
	for _, err := range s.List(ctx, layout, false) {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%s: no answer within %v", s, reachableWithin)
		}
		return err
	}
	return nil
}

// credentialsWithin bounds the search for credentials: its last place is the machine's
// metadata service, which many machines have none of.
const credentialsWithin = 5 * time.Second

// CheckCredentials says why there are no credentials for a store, as far as that can be
// known ahead. The store itself is not asked. Those of a role to assume come when they
// are needed; that the job may ask for them is known.
func CheckCredentials(ctx context.Context, ref string, o Options) error {
	switch {
	case !IsRemote(ref):
		return nil
	case o.RoleToAssume != "":
		return checkToken(o.Env)
	}
	s, err := Open(ctx, ref, o)
	if err != nil {
		return err
	}
	b := s.(*bucket)
	ctx, cancel := context.WithTimeout(ctx, credentialsWithin)
	defer cancel()
	_, err = b.client.Options().Credentials.Retrieve(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s: no credentials were found within %v; %s", b, credentialsWithin, adviceNoCredentials)
	}
	return b.fault("opened", "", err)
}
