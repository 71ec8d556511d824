package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// layout is the first part of every key: the version of the layout.
const layout = "v1"

// Series are the runs that make a history: one cell of a repository on one ref. A
// cell is a point of the matrix, as a model on a machine.
type Series struct {
	Owner, Repo, Cell, Ref string
}

// Key names one run in a store:
//
//	v1/<owner>/<repo>/<cell>/<ref>/<UTC time>-<sha12>-<run>-<attempt>
//
// The time comes first, so that the names of a series are in the order of time.
type Key struct {
	Series
	Time    time.Time // when the run started; whole seconds count
	SHA     string    // commit that was measured, hexadecimal; 12 digits count
	Run     string    // id of the workflow run, or of the run itself outside of one
	Attempt int       // 1 when 0
}

// timeLayout sorts as text and needs no escape anywhere.
const timeLayout = "20060102T150405Z"

// noSHA stands where the commit is not known.
const noSHA = "000000000000"

// Bounds of a part in a key, in bytes. A file name may have 255, a whole key in S3
// 1024.
const (
	maxPart  = 150
	maxTail  = 16 // hexadecimal digits that tell long parts apart
	maxFront = maxPart - 1 - maxTail
)

// String is the key as a path. Every part holds only letters, digits and -_.= in
// ASCII and begins with no dot: other bytes are written =XX. A part that would be
// longer than a file name allows is cut and ends in its hash. Parse gives back a
// key with the same String, and the same key where nothing was cut.
func (k Key) String() string { return k.Series.String() + "/" + k.name() }

// String is the path under which the runs of the series lie.
func (s Series) String() string {
	return strings.Join([]string{layout, encode(s.Owner), encode(s.Repo), encode(s.Cell), encode(s.Ref)}, "/")
}

func (k Key) name() string {
	sha := k.SHA
	if sha == "" {
		sha = noSHA
	}
	return strings.Join([]string{k.Time.UTC().Format(timeLayout), short(sha), encode(k.Run), strconv.Itoa(max(1, k.Attempt))}, "-")
}

func short(sha string) string { return sha[:min(len(sha), len(noSHA))] }

// Validate names what no key can be made of.
func (k Key) Validate() error {
	if err := k.Series.Validate(); err != nil {
		return err
	}
	switch year := k.Time.UTC().Year(); {
	case k.Run == "":
		return errors.New("key: the run has no id")
	case k.Time.IsZero() || year < 1 || year > 9999:
		return errors.New("key: the run has no time")
	case k.SHA != "" && !isSHA(short(k.SHA)):
		return fmt.Errorf("key: the commit %q is no hash of at least %d hexadecimal digits", printable(k.SHA), len(noSHA))
	}
	return nil
}

// Validate names the part that is missing.
func (s Series) Validate() error {
	for _, p := range []struct{ name, value string }{{"owner", s.Owner}, {"repository", s.Repo}, {"cell", s.Cell}, {"ref", s.Ref}} {
		if p.value == "" {
			return fmt.Errorf("key: the %s is empty", p.name)
		}
	}
	return nil
}

func isSHA(s string) bool {
	return len(s) == len(noSHA) && strings.Trim(s, "0123456789abcdef") == ""
}

// Parse reads the path of a key as String writes it, and nothing else.
func Parse(path string) (Key, error) {
	series, name, ok := cutLast(path)
	if !ok {
		return Key{}, fmt.Errorf("key %q: want %s/<owner>/<repo>/<cell>/<ref>/<time>-<sha>-<run>-<attempt>", printable(path), layout)
	}
	s, err := ParseSeries(series)
	if err != nil {
		return Key{}, err
	}
	k, err := parseName(name)
	if err != nil {
		return Key{}, fmt.Errorf("key %q: %w", printable(path), err)
	}
	k.Series = s
	if k.String() != path { // one spelling a key, or two runs could be one
		return Key{}, fmt.Errorf("key %q: not as a key is written", printable(path))
	}
	return k, k.Validate()
}

// ParseSeries reads the path of a series as String writes it.
func ParseSeries(path string) (Series, error) {
	parts := strings.Split(path, "/")
	if len(parts) != 5 || parts[0] != layout {
		return Series{}, fmt.Errorf("key %q: want %s/<owner>/<repo>/<cell>/<ref>", printable(path), layout)
	}
	var s Series
	for i, to := range []*string{&s.Owner, &s.Repo, &s.Cell, &s.Ref} {
		text, err := decode(parts[i+1])
		if err != nil {
			return Series{}, fmt.Errorf("key %q: %w", printable(path), err)
		}
		*to = text
	}
	if s.String() != path {
		return Series{}, fmt.Errorf("key %q: not as a key is written", printable(path))
	}
	return s, s.Validate()
}

// parseName reads <time>-<sha>-<run>-<attempt>; the run may hold dashes.
func parseName(name string) (k Key, err error) {
	text, rest, _ := strings.Cut(name, "-")
	sha, rest, _ := strings.Cut(rest, "-")
	i := strings.LastIndexByte(rest, '-')
	if i < 0 {
		return k, errors.New("want <time>-<sha>-<run>-<attempt>")
	}
	if k.Time, err = time.Parse(timeLayout, text); err != nil {
		return k, fmt.Errorf("%q is no time", printable(text))
	}
	if !isSHA(sha) {
		return k, fmt.Errorf("%q is no commit", printable(sha))
	}
	if sha != noSHA {
		k.SHA = sha
	}
	if k.Run, err = decode(rest[:i]); err != nil {
		return k, err
	}
	if k.Attempt, err = strconv.Atoi(rest[i+1:]); err != nil || k.Attempt < 1 {
		return k, fmt.Errorf("%q is no attempt", printable(rest[i+1:]))
	}
	return k, nil
}

func cutLast(path string) (before, after string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

const upperHex = "0123456789ABCDEF"

// encode writes a part. The escape is = because S3's tools, shells and addresses
// leave it alone, which % is not.
func encode(part string) string {
	var b strings.Builder
	for i := range len(part) {
		if c := part[i]; plain(c) && (c != '.' || i > 0) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'=', upperHex[c>>4], upperHex[c&15]})
		}
	}
	text := b.String()
	if len(text) <= maxPart {
		return text
	}
	sum := sha256.Sum256([]byte(part))
	front := text[:maxFront]
	if i := strings.LastIndexByte(front, '='); i > len(front)-3 { // half an escape
		front = front[:i]
	}
	return front + "-" + hex.EncodeToString(sum[:])[:maxTail]
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
}

func decode(part string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch {
		case plain(c):
			b.WriteByte(c)
		case c == '=' && i+2 < len(part):
			v, err := hex.DecodeString(part[i+1 : i+3])
			if err != nil {
				return "", fmt.Errorf("%q is no escape", printable(part[i:i+3]))
			}
			b.Write(v)
			i += 2
		default:
			return "", fmt.Errorf("%q stands in it", printable(string(rune(c))))
		}
	}
	return b.String(), nil
}
