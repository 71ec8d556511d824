//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// giveToOwner gives what a run left in GitHub's workspace to the workspace's owner:
// an Action's container runs as root, and the runner's own user could neither read
// nor remove it (decisions.md 32). Only what is root's changes hands. Elsewhere, and
// for anybody but root, it does nothing.
func giveToOwner(folders []string) error {
	workspace := os.Getenv("GITHUB_WORKSPACE")
	if os.Getenv("GITHUB_ACTIONS") != "true" || workspace == "" || os.Geteuid() != 0 {
		return nil
	}
	var errs []error
	for _, dir := range folders {
		if err := giveFolder(workspace, dir); err != nil {
			errs = append(errs, fmt.Errorf("%s can't be given to the owner of %s: %w", dir, workspace, err))
		}
	}
	return errors.Join(errs...)
}

func giveFolder(workspace, dir string) error {
	root, err := os.OpenRoot(workspace) // nothing outside is reached, by whatever link
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	to := handover{root, info.Sys().(*syscall.Stat_t)}
	name, err := within(workspace, dir)
	if err != nil || name == "" || name == "." || to.owner.Uid == 0 {
		return err
	}
	for up := filepath.Dir(name); up != "."; up = filepath.Dir(up) {
		if err := to.give(up); err != nil {
			return err
		}
	}
	// Beside it an earlier run may have been moved to a folder with a number.
	beside, err := fs.ReadDir(root.FS(), filepath.Dir(name))
	if err != nil {
		return err
	}
	earlier := regexp.MustCompile(`^` + regexp.QuoteMeta(filepath.Base(name)) + `(\.\d+)?$`)
	for _, e := range beside {
		if !earlier.MatchString(e.Name()) {
			continue
		}
		err := fs.WalkDir(root.FS(), filepath.Join(filepath.Dir(name), e.Name()), func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return to.give(name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// within is a path as seen from the workspace; empty when it lies elsewhere.
func within(workspace, dir string) (string, error) {
	workspace, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil // nothing was left
	} else if err != nil {
		return "", err
	}
	name, err := filepath.Rel(workspace, dir)
	if err != nil {
		return "", err
	}
	if !filepath.IsLocal(name) {
		return "", nil
	}
	return name, nil
}

type handover struct {
	root  *os.Root
	owner *syscall.Stat_t
}

// give changes the owner of what is root's. A file with a second name may be
// anybody's, a link is changed itself.
func (h handover) give(name string) error {
	info, err := h.root.Lstat(name)
	if err != nil {
		return err
	}
	stat := info.Sys().(*syscall.Stat_t)
	if stat.Uid != 0 || info.Mode().IsRegular() && stat.Nlink > 1 {
		return nil
	}
	return h.root.Lchown(name, int(h.owner.Uid), int(h.owner.Gid))
}
