package result

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// KindManifest and ManifestSchemaVersion mark manifest.json.
const (
	KindManifest          = "agentx.manifest"
	ManifestSchemaVersion = "1.1"
)

// maxFiles bounds a folder.
const maxFiles = 100_000

// Manifest lists every file of a folder. It is written last: a folder without
// it is not finished.
type Manifest struct {
	// Says which file this is.
	Kind string `json:"kind" jsonschema:"enum=agentx.manifest"`
	// Version of this layout.
	SchemaVersion string `json:"schema_version"`
	// Run that the folder belongs to.
	RunID string `json:"run_id"`
	// Sorted by path; manifest.json itself is not among them.
	Files []Entry `json:"files"`
}

// Entry is a file in the manifest.
type Entry struct {
	File
	// CRC-32C (Castagnoli), hexadecimal. A store can hold what arrives against it, at a
	// tenth of what the SHA-256 costs. Absent before 1.1.
	CRC32C string `json:"crc32c,omitzero" jsonschema:"pattern=^[0-9a-f]{8}$"`
}

// is tells whether a file, as it was hashed now, is the entry's.
func (e Entry) is(now Entry) bool {
	return e.File == now.File && (e.CRC32C == "" || e.CRC32C == now.CRC32C)
}

func (e Entry) String() string {
	if e.CRC32C == "" {
		return fmt.Sprintf("%d bytes, sha256 %s", e.Size, e.SHA256)
	}
	return fmt.Sprintf("%d bytes, sha256 %s, crc32c %s", e.Size, e.SHA256, e.CRC32C)
}

// WriteManifest hashes the run's files below dir and writes manifest.json. What
// others put into the folder is left out. It refuses a file of ours that is no
// plain file.
func WriteManifest(dir, runID string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	m := Manifest{Kind: KindManifest, SchemaVersion: ManifestSchemaVersion, RunID: runID, Files: []Entry{}}
	names, err := list(root)
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := hashFile(root, name)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, f)
	}
	return writeManifest(root, &m)
}

// readManifest reads it without looking at the files.
func readManifest(root *os.Root) (*Manifest, error) {
	text, err := readDocument(root, FileManifest)
	if err != nil {
		return nil, err
	}
	m, err := DecodeManifest(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FileManifest, err)
	}
	return m, nil
}

// Verify holds the folder against its manifest: every file listed is there with
// its size and hash, and no other file of the run's names is. All faults are in the error, joined.
func Verify(dir string) error {
	_, err := VerifyBut(dir, nil)
	return err
}

// VerifyBut is Verify that passes over the files whose path but is true of, for who
// is about to write them anew, or reads them anyway and holds them against the
// manifest; nil is none.
func VerifyBut(dir string, but func(name string) bool) (*Manifest, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return verify(root, but)
}

// Find is the entry of a file.
func (m *Manifest) Find(path string) (Entry, bool) {
	for _, f := range m.Files {
		if f.Path == path {
			return f, true
		}
	}
	return Entry{}, false
}

// Add enters files that were written after the run into its manifest, or renews
// their entries. Those of all others stay, so that nothing altered since is taken
// for the run's. The manifest of a run in whose folder it lies is renewed too.
func Add(dir string, names ...string) error {
	parent := ParentOf(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	m, err := readManifest(root)
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := hashFile(root, name)
		if err != nil {
			return err
		}
		m.Files = append(slices.DeleteFunc(m.Files, func(old Entry) bool { return old.Path == name }), f)
	}
	if err := writeManifest(root, m); err != nil {
		return err
	}
	return parent.Renew(func(name string) bool { return slices.Contains(names, name) })
}

func verify(root *os.Root, but func(name string) bool) (*Manifest, error) {
	m, err := readManifest(root)
	if err != nil {
		return nil, err
	}
	var faults []error
	listed := map[string]bool{}
	for _, want := range m.Files {
		listed[want.Path] = true
		if but != nil && but(want.Path) {
			continue
		}
		got, err := hashFile(root, want.Path)
		switch {
		case err != nil:
			faults = append(faults, err)
		case !want.is(got):
			faults = append(faults, fmt.Errorf("%s: differs from the manifest (%v; now %v)", want.Path, want, got))
		}
	}
	names, err := list(root)
	if err != nil {
		return m, errors.Join(append(faults, err)...)
	}
	for _, name := range names {
		if !listed[name] && (but == nil || !but(name)) {
			faults = append(faults, fmt.Errorf("%s: not in the manifest", name))
		}
	}
	return m, errors.Join(faults...)
}

// ReadManifest reads the manifest of a folder and its text as it stands, without
// looking at the files.
func ReadManifest(dir string) (*Manifest, []byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	text, err := readDocument(root, FileManifest)
	if err != nil {
		return nil, nil, err
	}
	m, err := DecodeManifest(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", FileManifest, err)
	}
	return m, text, nil
}

// DecodeManifest reads a manifest, checked against its schema. It refuses paths that
// don't name a file inside the folder.
func DecodeManifest(text []byte) (*Manifest, error) {
	if err := validateManifest(text); err != nil {
		return nil, err
	}
	m := new(Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, err
	}
	if len(m.Files) > maxFiles {
		return nil, fmt.Errorf("lists %d files, at most %d are allowed", len(m.Files), maxFiles)
	}
	seen := map[string]bool{}
	for i, f := range m.Files {
		if !fs.ValidPath(f.Path) || f.Path == "." || f.Path == FileManifest || strings.ContainsAny(f.Path, "\\:\x00") {
			return nil, fmt.Errorf("/files/%d/path: %q is no path inside the folder", i, f.Path)
		}
		if seen[f.Path] {
			return nil, fmt.Errorf("/files/%d/path: %q is listed twice", i, f.Path)
		}
		seen[f.Path] = true
	}
	return m, nil
}

// Folders of a run's folder that belong to it as a whole: that of the charts, and
// those whose names begin with FolderFixed, each a fixed-length baseline.
const (
	FolderCharts = "charts"
	FolderFixed  = "fixed-"
)

// Files are the names that a run may write at the top of its folder, the
// manifest first.
func Files() []string {
	return []string{FileManifest, FileResult, FileFacts, FileRecords, FileTrees, FileSamples, FileAIPerf, FileAIPerfCSV, FileAIPerfRecords,
		FileSeries, FileSeriesOld, FileServerMetrics, FileServerMetricsCSV, FileTelemetry, FileEngineLog, FileReport, FileComparison, FileConfig}
}

// IsFolder reports whether a folder of that name in a run's folder is the run's.
func IsFolder(name string) bool { return name == FolderCharts || strings.HasPrefix(name, FolderFixed) }

// belongs reports whether a file, by its path in the folder, is the run's and
// stands in the manifest: one of the names that this program writes, or in a
// folder of its own.
func belongs(name string) bool {
	top, _, inside := strings.Cut(name, "/")
	if inside {
		return IsFolder(top)
	}
	return name != FileManifest && slices.Contains(Files(), name)
}

// list gives the run's files below the root but the manifest, sorted.
func list(root *os.Root) ([]string, error) {
	var names []string
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && !belongs(name+"/"):
			return fs.SkipDir
		case d.IsDir() || !belongs(name):
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s: not a plain file", name)
		case len(names) >= maxFiles:
			return fmt.Errorf("more than %d files", maxFiles)
		}
		names = append(names, name)
		return nil
	})
	slices.Sort(names)
	return names, err
}

func hashFile(root *os.Root, name string) (Entry, error) {
	f, err := OpenPlain(root, name)
	if err != nil {
		return Entry{}, err
	}
	defer f.Close()
	h := newHashWriter()
	if _, err := io.Copy(&h, f); err != nil {
		return Entry{}, fmt.Errorf("%s: %w", name, err)
	}
	return h.entry(name), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// hashWriter hashes and counts.
type hashWriter struct {
	hash hash.Hash
	crc  hash.Hash32
	n    int64
}

func newHashWriter() hashWriter { return hashWriter{hash: sha256.New(), crc: crc32.New(castagnoli)} }

func (h *hashWriter) Write(p []byte) (int, error) {
	h.n += int64(len(p))
	_, _ = h.crc.Write(p) // never fails
	return h.hash.Write(p)
}

func (h *hashWriter) entry(name string) Entry {
	return Entry{File{name, h.n, hex.EncodeToString(h.hash.Sum(nil))}, hex.EncodeToString(h.crc.Sum(nil))}
}
