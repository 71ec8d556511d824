// Package schemas holds the JSON Schemas (2020-12) of the files that a run
// leaves. They are generated from the Go types in pkg/result by
//
//	go test ./pkg/result ./pkg/result/compare -run TestSchemas -update
//
// and the same tests fail when one is out of date.
package schemas

import (
	"embed"
	"io/fs"
)

// FS holds the *.schema.json files.
//
//go:embed *.schema.json
var FS embed.FS

// Names lists them.
func Names() []string {
	names, err := fs.Glob(FS, "*.schema.json")
	if err != nil { // only a malformed pattern
		panic(err)
	}
	return names
}
