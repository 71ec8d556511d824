package stranger

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"strings"

	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result"
)

// Bounds of what is quoted, in columns. A name fits with its quotes where names are
// shown.
const (
	quotedName     = 50
	quotedSentence = 200
)

// bareName is a name that needs no quotes: it can't be read as words of ours.
var bareName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@+=-]{0,199}$`)

var noQuotes = strings.NewReplacer("“", "'", "”", "'")

// Quote shows text of strangers as what it is: a name as it stands, anything else in
// quotation marks that it cannot close, cut to a width in columns.
func Quote(text string, width int) string {
	if text == "" || bareName.MatchString(text) {
		return text
	}
	return "“" + table.Plain(noQuotes.Replace(text), width) + "”"
}

// Document is the result of a rebuilt run to be told of. run.json is all
// that such a run says in words of its own, so it is quoted before anything is computed
// from it and the records: findings and figures are in words of ours.
func Document(dir string) (doc *result.Document, err error) {
	facts, err := result.ReadFacts(dir)
	if err != nil {
		return nil, err
	}
	failure := facts.Outcome.Error
	quoteAll(reflect.ValueOf(facts).Elem())
	facts.Outcome.Error = Quote(failure, quotedSentence)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var src result.Sources
	for name, to := range map[string]*io.Reader{result.FileRecords: &src.Records, result.FileTrees: &src.Trees, result.FileSamples: &src.Samples} {
		f, err := result.OpenPlain(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:gocritic // three files, read below
		*to = f
	}
	if doc, err = result.Compute(facts, src); err != nil {
		return nil, err
	}
	// What the records say in words: of the errors that the engine gave, and the traces.
	for i := range doc.Errors {
		doc.Errors[i].Type, doc.Errors[i].Message = Quote(doc.Errors[i].Type, quotedName), Quote(doc.Errors[i].Message, quotedSentence)
	}
	for i := range doc.Sessions.Played {
		doc.Sessions.Played[i].TraceID = Quote(doc.Sessions.Played[i].TraceID, quotedName)
	}
	return doc, nil
}

// quoteAll quotes every string in a value, the keys of maps too, so that a field which
// is added one day is quoted like the rest.
func quoteAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(Quote(v.String(), quotedName))
	case reflect.Pointer:
		if !v.IsNil() {
			quoteAll(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			quoteAll(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() { // not the insides of a time
				quoteAll(v.Field(i))
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		quoted := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.Set(it.Key())
			value.Set(it.Value())
			quoteAll(key)
			quoteAll(value)
			quoted.SetMapIndex(key, value)
		}
		v.Set(quoted)
	}
}
