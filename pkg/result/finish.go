package result

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Finish turns the folder of a run that is over into a result: it builds the
// document, checks it against its schema, and writes result.json, AIPerf's
// files and, last, the manifest. Files that are already there are replaced, so
// that it can be called again.
func Finish(dir string) (*Document, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	removeTemps(root)
	d, err := build(root)
	if err != nil {
		return nil, err
	}
	// From here to the new manifest the folder is not finished.
	if err := root.Remove(FileManifest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	if err := export(root, d); err != nil {
		return d, err
	}
	return d, WriteManifest(dir, d.RunID)
}

// export writes everything that follows from the document and the records. A
// failure leaves the earlier files in place.
func export(root *os.Root, d *Document) error {
	for _, f := range []struct {
		name string
		text func() ([]byte, error)
	}{{FileResult, d.Encode}, {FileAIPerf, d.AIPerf}, {FileAIPerfCSV, d.AIPerfCSV}} {
		text, err := f.text()
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := writeBytes(root, f.name, text); err != nil {
			return err
		}
	}
	return exportRecords(root)
}

func exportRecords(root *os.Root) error {
	facts, err := readFacts(root)
	if err != nil {
		return err
	}
	return WriteAtomic(root, FileAIPerfRecords, func(w io.Writer) error {
		if !exists(root, FileRecords) {
			return nil
		}
		records, err := OpenPlain(root, FileRecords)
		if err != nil {
			return err
		}
		defer records.Close()
		return writeAIPerfRecords(w, records, facts.OriginAt, facts.Settings.Counting)
	})
}

// Read reads the result.json of a folder, checked against its schema.
func Read(dir string) (*Document, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	text, err := readDocument(root, FileResult)
	if err != nil {
		return nil, err
	}
	d, err := Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FileResult, err)
	}
	return d, nil
}

// ReadFacts reads the run.json of a folder, checked against its schema.
func ReadFacts(dir string) (*Facts, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readFacts(root)
}

func readFacts(root *os.Root) (*Facts, error) {
	text, err := readDocument(root, FileFacts)
	if err != nil {
		return nil, err
	}
	f, err := DecodeFacts(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FileFacts, err)
	}
	return f, nil
}
