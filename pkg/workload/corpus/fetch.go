package corpus

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Bounds of a fetching.
const (
	mostBytes = 64 << 30               // of a set; those of 2026 have a few GB
	silence   = time.Minute            // on a connection, which then counts as cut
	longest   = 24 * time.Hour         // altogether
	tries     = 5                      // in a row
	pause     = 2 * time.Second        // after the first of them, doubled after each
	poll      = 200 * time.Millisecond // for the lock
	enough    = 16 << 20               // bytes that a try must bring for the count to begin anew
)

// Fetching says how a set that is not in the cache is fetched. The zero value fetches
// what is newest, and tells nothing.
type Fetching struct {
	Revision string // commit, tag or branch of the dataset; "" = main

	// Tell takes a line about what goes on. Passing ones only tell how far it is.
	Tell  func(line string, passing bool)
	Every time.Duration // between passing lines; 0 = none
}

// FetchError says that a set could not be fetched, and where it may be put by hand.
type FetchError struct {
	Set  PublicSet
	File string // where it belongs
	Err  error
}

func (e *FetchError) Error() string {
	if errors.Is(e.Err, context.Canceled) {
		return fmt.Sprintf("cancelled while the corpus %s was fetched; the next run goes on from there", e.Set.Name)
	}
	return fmt.Sprintf("the corpus %s can't be fetched: %v. By hand: %s", e.Set.Name, e.Err, e.Set.byHand(e.File))
}

// Unwrap gives the cause.
func (e *FetchError) Unwrap() error { return e.Err }

// Fetch brings the set into the cache, unless it is there. It returns the file and
// what it is: its size and sum are those of what lies on the disk.
func (s PublicSet) Fetch(ctx context.Context, f Fetching) (file string, from Origin, err error) {
	if file, err = s.present(ctx, f); err != nil {
		return file, from, err
	}
	content, err := os.Open(file)
	if err != nil {
		return file, from, err
	}
	defer content.Close()
	sum, n, err := sumOf(ctx, content)
	if err != nil {
		return file, from, err
	}
	from, ok := readOrigin(file)
	if !ok || from.SHA256 != sum { // put there by hand
		from = Origin{Name: s.Name, Dataset: s.Dataset}
	}
	from.SHA256, from.Bytes = sum, n
	if f.Revision != "" && f.Revision != from.Revision && commitHash.MatchString(f.Revision) {
		return file, from, fmt.Errorf("%s is of revision %s, not %s; remove it to fetch that", file, cmp.Or(from.Revision, "unknown"), f.Revision)
	}
	return file, from, nil
}

// present returns the set's file, which is fetched when it isn't there.
func (s PublicSet) present(ctx context.Context, f Fetching) (file string, err error) {
	if file, err = s.File(); err != nil || there(file) {
		return file, err
	}
	if offline() {
		return file, s.notHere(file)
	}
	l, err := newLoading(s, file, f)
	if err != nil {
		return file, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("it took longer than %v", longest))
	defer cancel()
	if err := l.fetch(ctx); err != nil {
		return file, &FetchError{Set: s, File: file, Err: err}
	}
	return file, nil
}

// loading is a fetching on its way.
type loading struct {
	Fetching
	set   PublicSet
	hub   *hub
	file  string
	most  int64
	pause time.Duration

	locked bool
	remote *remote // nil until the endpoint was asked
	piece  *piece  // nil until then too
	told   time.Time
}

func newLoading(s PublicSet, file string, f Fetching) (*loading, error) {
	h, err := newHub()
	if err != nil {
		return nil, err
	}
	return &loading{Fetching: f, set: s, hub: h, file: file, most: mostBytes, pause: pause}, nil
}

func (l *loading) tell(format string, args ...any) {
	if l.Tell != nil {
		l.Tell(fmt.Sprintf(format, args...), false)
	}
}

// fetch loads the file, or waits for another process that does.
func (l *loading) fetch(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(l.file), 0o755); err != nil {
		return err
	}
	release, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if there(l.file) {
		return nil
	}
	defer func() {
		if l.piece != nil {
			l.piece.leave()
		}
	}()
	begin := time.Now()
	if err := l.load(ctx); err != nil {
		return err
	}
	l.tell("fetched %s in %.0f s", megabytes(l.piece.bytes), time.Since(begin).Seconds())
	l.piece = nil
	if l.locked {
		sweepPieces(l.file)
	}
	return nil
}

// lock keeps two processes from fetching the same. Where there are no locks they do,
// each into a file of its own.
func (l *loading) lock(ctx context.Context) (release func(), err error) {
	for said := false; ; said = true {
		release, l.locked, err = tryLock(l.file + ".lock")
		if !errors.Is(err, errBusy) {
			return release, err
		}
		if !said {
			l.tell("another process is fetching %s; waiting for it", l.set.Name)
		}
		if err := sleep(ctx, poll); err != nil {
			return nil, err
		}
	}
}

// load tries until the file is there, or it is of no use any more.
func (l *loading) load(ctx context.Context) error {
	for failures := 0; ; {
		before := l.bytes()
		err := l.try(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if l.bytes()-before >= enough {
			failures = 0
		}
		if failures++; failures >= tries || isFinal(err) {
			return err
		}
		wait := l.pause << (failures - 1)
		var status *statusError
		if errors.As(err, &status) {
			wait = max(wait, status.wait)
		}
		l.tell("%v; going on from %s in %v, try %d of %d", err, megabytes(l.bytes()), wait, failures+1, tries)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func (l *loading) bytes() int64 {
	if l.piece == nil {
		return 0
	}
	return l.piece.bytes
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// try goes on from what there is.
func (l *loading) try(ctx context.Context) (err error) {
	if l.piece == nil {
		if err := l.begin(ctx); err != nil {
			return err
		}
	}
	if l.remote.sha256 == "" || l.remote.bytes >= 0 && l.piece.bytes > l.remote.bytes {
		if err := l.piece.empty(); err != nil { // who knows what it is a part of
			return err
		}
	}
	if l.piece.bytes == 0 || l.piece.bytes != l.remote.bytes {
		if err := l.receive(ctx); err != nil {
			return err
		}
	}
	return l.finish(ctx)
}

// begin asks what there is to fetch.
func (l *loading) begin(ctx context.Context) (err error) {
	if l.remote, err = l.hub.describe(ctx, l.set.Dataset, cmp.Or(l.Revision, mainRevision)); err != nil {
		return err
	}
	if l.remote.bytes > l.most {
		return l.tooLarge()
	}
	if l.piece, err = openPiece(l.file, l.remote.sha256, l.locked); err != nil {
		return &diskError{err}
	}
	l.told = time.Now()
	size, from := "", ""
	if l.remote.bytes >= 0 {
		size = megabytes(l.remote.bytes) + " of "
	}
	if l.piece.bytes > 0 {
		from = fmt.Sprintf(", going on from %s", megabytes(l.piece.bytes))
	}
	l.tell("fetching %s%s to %s%s", size, l.hub.address(l.set.Dataset, cmp.Or(l.remote.revision, l.remote.asked)), l.file, from)
	return nil
}

func (l *loading) tooLarge() error {
	return &finalError{fmt.Errorf("it is larger than %s, which no set of traces is", megabytes(l.most))}
}

// receive takes the content that is missing.
func (l *loading) receive(ctx context.Context) error {
	res, err := l.hub.get(ctx, l.remote, l.piece.bytes)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	content := bufio.NewReaderSize(res.Body, 64<<10)
	switch res.StatusCode {
	case http.StatusPartialContent:
		if !strings.HasPrefix(res.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", l.piece.bytes)) {
			return errors.Join(fmt.Errorf("%s sent another part than it was asked for", res.Request.URL.Host), l.piece.empty())
		}
	case http.StatusRequestedRangeNotSatisfiable:
		return errors.Join(fmt.Errorf("%s has fewer bytes than are here", res.Request.URL.Host), l.piece.empty())
	default:
		if err := looksRight(res, content); err != nil {
			return err
		}
		if err := l.piece.empty(); err != nil {
			return err
		}
	}
	room := l.most
	if l.remote.bytes >= 0 {
		room = l.remote.bytes
	}
	_, err = io.CopyBuffer(&counted{l}, io.LimitReader(content, room-l.piece.bytes+1), make([]byte, 1<<20))
	switch {
	case err != nil:
		return err
	case l.piece.bytes > l.most:
		return errors.Join(l.tooLarge(), l.piece.empty())
	}
	return nil
}

// looksRight refuses what is no JSON from its first byte on.
func looksRight(res *http.Response, content *bufio.Reader) error {
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		return &finalError{fmt.Errorf("%s answered with a web page, no traces; look for a proxy or a login in between", res.Request.URL.Host)}
	}
	head, err := content.Peek(512)
	if len(head) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if head = bytes.TrimSpace(head); !bytes.HasPrefix(head, []byte("{")) {
		return &finalError{fmt.Errorf("%s sent something that is no traces, it begins with %q", res.Request.URL.Host, head[:min(len(head), 40)])}
	}
	return nil
}

// counted tells from time to time how far it is.
type counted struct{ l *loading }

func (c *counted) Write(p []byte) (int, error) {
	l := c.l
	n, err := l.piece.Write(p)
	if l.Tell == nil || l.Every <= 0 || time.Since(l.told) < l.Every {
		return n, err
	}
	l.told = time.Now()
	of := ""
	if l.remote.bytes >= 0 {
		of = " of " + megabytes(l.remote.bytes)
	}
	l.Tell(megabytes(l.piece.bytes)+of, true)
	return n, err
}

// finish checks what was fetched, and puts it where it belongs.
func (l *loading) finish(ctx context.Context) error {
	r, p := l.remote, l.piece
	if r.bytes >= 0 && p.bytes < r.bytes {
		return fmt.Errorf("the content ended after %s of %s", megabytes(p.bytes), megabytes(r.bytes))
	}
	sum, err := p.sum(ctx)
	if err != nil {
		return err
	}
	if r.bytes >= 0 && p.bytes != r.bytes || r.sha256 != "" && sum != r.sha256 {
		return l.wrong(sum)
	}
	from := Origin{Name: l.set.Name, Dataset: l.set.Dataset, Revision: r.revision, SHA256: sum, Bytes: p.bytes, FetchedAt: time.Now().UTC().Truncate(time.Second)}
	if err := from.write(l.file); err != nil {
		return &diskError{err}
	}
	return p.become(l.file)
}

// wrong throws away what is not the file. What another process left may be why; then
// it is fetched once more from its beginning.
func (l *loading) wrong(sum string) error {
	r, p := l.remote, l.piece
	err := fmt.Errorf("what came is not the file (%d bytes, sha256 %s; %s says %d, %s)", p.bytes, sum, l.hub.endpoint.Host, r.bytes, cmp.Or(r.sha256, "nothing"))
	again := p.before
	if failed := p.empty(); failed != nil {
		return failed
	}
	if again {
		return err
	}
	return &finalError{err}
}
