package result

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Every document that is published has a kind and a version, MAJOR.MINOR. What is
// added, and may be absent, raises MINOR; any other change raises MAJOR and comes
// with a reader of the version before (docs/schemas.md). So a program reads every
// MINOR of a MAJOR that it knows: what an older one lacks is absent, what a newer
// one has in addition is passed over.

// kind is one of the documents.
type kind struct {
	schema  string
	version string // that this program writes
}

// kinds by their name in the document. Documents of another package are entered by
// RegisterKind.
var kinds = map[string]kind{
	KindResult:   {"result.schema.json", SchemaVersion},
	KindFacts:    {"run.schema.json", FactsSchemaVersion},
	KindManifest: {"manifest.schema.json", ManifestSchemaVersion},
}

// RegisterKind enters a document whose type lives elsewhere. It is called while the
// program starts.
func RegisterKind(name, schema, version string) { kinds[name] = kind{schema, version} }

// Kinds lists the documents, sorted.
func Kinds() []string {
	var out []string
	for name := range kinds {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// VersionError is a document of a version that can't be read.
type VersionError struct {
	Got, Known string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("it has version %q, this program reads %s.x: take an agentx that is as new as the one that wrote it", e.Got, major(e.Known))
}

// newer tells whether a document may have members that this program doesn't know.
func newer(got, known string) (bool, error) {
	gotMajor, gotMinor, ok := parseVersion(got)
	knownMajor, knownMinor, _ := parseVersion(known)
	if !ok || gotMajor != knownMajor {
		return false, &VersionError{got, known}
	}
	return gotMinor > knownMinor, nil
}

func parseVersion(text string) (major, minor int, ok bool) {
	a, b, found := strings.Cut(text, ".")
	major, err1 := strconv.Atoi(a)
	minor, err2 := strconv.Atoi(b)
	return major, minor, found && err1 == nil && err2 == nil && major > 0 && minor >= 0
}

func major(version string) string {
	text, _, _ := strings.Cut(version, ".")
	return text
}
