package result

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Parent is the folder of a run in which that of a baseline lies, and whose manifest
// lists the files of both. nil is none.
type Parent struct {
	dir   string
	below string // name of the baseline's folder
}

// ParentOf finds the parent of a folder that is about to be written to. There is
// none where the folder is no longer as the parent's manifest has it: what was
// altered is not to be entered there.
func ParentOf(dir string) *Parent {
	full, err := filepath.Abs(dir)
	if err != nil || !strings.HasPrefix(filepath.Base(full), FolderFixed) {
		return nil
	}
	p := &Parent{filepath.Dir(full), filepath.Base(full)}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	m, err := readManifest(root)
	if err != nil {
		return nil
	}
	want, listed := m.Find(p.below + "/" + FileManifest)
	got, err := hashFile(root, p.below+"/"+FileManifest)
	if !listed || err != nil || !want.is(got) {
		return nil
	}
	return p
}

// Renew enters in the parent's manifest what the folder has now of the files that
// changed is true of, and of its own manifest. The entries of all others stay.
func (p *Parent) Renew(changed func(name string) bool) error {
	if p == nil {
		return nil
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	m, err := readManifest(root)
	if err != nil {
		return err
	}
	names, err := list(root)
	if err != nil {
		return err
	}
	renewed := func(path string) bool {
		top, name, _ := strings.Cut(path, "/")
		return top == p.below && (name == FileManifest || changed(name))
	}
	m.Files = slices.DeleteFunc(m.Files, func(f Entry) bool { return renewed(f.Path) })
	for _, name := range names {
		if !renewed(name) {
			continue
		}
		f, err := hashFile(root, name)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, f)
	}
	return writeManifest(root, m)
}

// writeManifest sorts and writes it. One of an older MINOR is of ours from then on, since
// it has entries with members that the older one lacks.
func writeManifest(root *os.Root, m *Manifest) error {
	if ahead, err := newer(m.SchemaVersion, ManifestSchemaVersion); err == nil && !ahead {
		m.SchemaVersion = ManifestSchemaVersion
	}
	slices.SortFunc(m.Files, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	text, err := encode(m)
	if err != nil {
		return err
	}
	return writeBytes(root, FileManifest, text)
}
