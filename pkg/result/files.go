package result

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Files of a run's folder that this package reads or writes.
const (
	FileFacts         = "run.json"
	FileRecords       = "records.jsonl"
	FileTrees         = "trees.jsonl"
	FileSamples       = "samples.jsonl"
	FileResult        = "result.json"
	FileAIPerfRecords = "profile_export.jsonl"
	FileAIPerf        = "profile_export_aiperf.json"
	FileAIPerfCSV     = "profile_export_aiperf.csv"
	FileComparison    = "comparison.json"
	FileEngineLog     = "engine.log" // of an engine that we brought up, once it is down
	FileReport        = "report.html"
	FileConfig        = "agentx.effective.yaml" // what was asked for, by whom; no file of the user's own has that name
	FileManifest      = "manifest.json"

	FileSeries           = "engine_metrics.jsonl.zst"   // the engines' metrics, a sample of one of them a line
	FileSeriesOld        = "engine_metrics.jsonl"       // as earlier releases wrote it, of one engine
	FileServerMetrics    = "server_metrics_export.json" // every family of the metrics pages, in AIPerf's layout
	FileServerMetricsCSV = "server_metrics_export.csv"
	FileTelemetry        = "gpu_telemetry.jsonl.zst" // the GPUs, a sample a line
)

// maxDocument bounds a JSON document that is read whole, in bytes.
const maxDocument = 64 << 20

// readDocument reads a whole file of bounded size.
func readDocument(root *os.Root, name string) ([]byte, error) {
	f, err := OpenPlain(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, maxDocument)
	}
	return text, nil
}

// OpenPlain opens a file in a folder that is neither a folder nor anything that could
// block, like a pipe.
func OpenPlain(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a plain file", name)
	}
	return root.Open(name)
}

// WriteAtomic writes a file under a temporary name and renames it when write
// has succeeded and the bytes are on disk, so that nobody sees half of it.
func WriteAtomic(root *os.Root, name string, write func(io.Writer) error) (err error) {
	temp := path.Join(path.Dir(name), "."+path.Base(name)+"."+rand.Text()[:8]+".tmp")
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			_ = f.Close() // a second Close fails and changes nothing
			_ = root.Remove(temp)
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return root.Rename(temp, name)
}

// removeTemps removes what a crash during WriteAtomic left of our own files.
func removeTemps(root *os.Root) {
	for _, name := range []string{FileFacts, FileResult, FileAIPerf, FileAIPerfCSV, FileAIPerfRecords, FileComparison, FileManifest} {
		left, err := fs.Glob(root.FS(), "."+name+".*.tmp")
		if err != nil {
			continue
		}
		for _, l := range left {
			_ = root.Remove(l) // what stays ends up in the manifest, harmlessly
		}
	}
}

// WriteFile writes a file of a folder whole or not at all.
func WriteFile(dir, name string, text []byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return writeBytes(root, name, text)
}

func writeBytes(root *os.Root, name string, text []byte) error {
	return WriteAtomic(root, name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func exists(root *os.Root, name string) bool {
	_, err := root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// Baselines are the folders of the fixed-length runs in the folder of a run, sorted; none
// where it can't be read.
func Baselines(dir string) (dirs []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), FolderFixed) {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs
}
