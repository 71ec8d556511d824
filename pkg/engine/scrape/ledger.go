package scrape

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// Bounds of a ledger.
const (
	maxAccounts = 10_000    // series, a histogram counting as one
	maxTexts    = 200_000   // lines of a page, buckets one by one
	largest     = 1e30      // of a value, so that sums and squares stay finite
	maxCells    = 4_000_000 // slices of all series together: 1,800 of 1 s of 700 series at three cells
)

// kind is a family's type as the export calls it.
type kind string

const (
	kindGauge     kind = "gauge"
	kindCounter   kind = "counter"
	kindHistogram kind = "histogram"
	kindUnknown   kind = "unknown"
	kindIgnored   kind = "" // summaries, and when a series was created
)

// family is what a page says of a family before its series.
type family struct {
	kind kind
	help string
}

// ledger keeps account of every series of one server's pages, by the segments
// between the marks. It reads the pages itself, cheaply, since it wants all of
// them: a series is parsed when it first appears, and looked up by its text from
// then on. It is not safe for concurrent use.
type ledger struct {
	slice    time.Duration // 0 keeps no slices
	families map[string]family
	lines    map[string]entry
	accounts map[string]*account
	segments []span
	last     record.Stamp
	cells    int
	dropped  int // series beyond the bounds
	pages    pages
}

// span is a segment's mark.
type span struct {
	name  string
	start record.Stamp
}

// entry says which part of which account a line is; no account when it is
// ignored.
type entry struct {
	account *account
	part    int
}

// account is one series.
type account struct {
	name   string // of the family, counters without _total
	family family
	labels []label // without le
	le     []string
	parts  []part // of a counter or gauge one; of a histogram sum, count and buckets
	takes  []take // by segment
}

// part is one cumulative number of a page.
type part struct {
	last float64
	at   record.Stamp
	seen bool
}

// Parts of a histogram.
const (
	partSum = iota
	partCount
	partBuckets
)

// take is what a segment brought.
type take struct {
	grown  []float64 // by part
	reset  bool
	spread spread // of a gauge
	slices []cell
}

// cell is one slice: of a gauge its samples, of a counter its growth in sum, of
// a histogram the growth of sum and count.
type cell struct {
	sum, min, max float64
	n             float64
}

// pages is how the reading itself went.
type pages struct {
	first, last             record.Stamp
	took                    time.Duration
	fetches, updates        int
	firstUpdate, lastUpdate record.Stamp
	between                 spread // ms
	hash                    uint64
}

var pageSeed = maphash.MakeSeed()

func newLedger(slice time.Duration) *ledger {
	return &ledger{slice: slice, families: map[string]family{}, lines: map[string]entry{},
		accounts: map[string]*account{}, segments: []span{{}}}
}

// add takes a page. One that was overtaken by a later one is left out: its
// counters would seem to fall.
func (l *ledger) add(at record.Stamp, text []byte, took time.Duration) {
	if at < l.last {
		return
	}
	fresh := l.pages.fetches == 0
	l.pages.add(at, text, took)
	l.last = at
	for line := range bytes.Lines(text) {
		if line[0] == '#' {
			l.comment(line)
			continue
		}
		series, value, ok := sample(line)
		if !ok || !(math.Abs(value) <= largest) { // NaN too
			continue
		}
		e, known := l.lines[string(series)]
		if !known {
			e = l.enter(series)
		}
		if e.account != nil {
			l.book(e, value, fresh)
		}
	}
}

func (p *pages) add(at record.Stamp, text []byte, took time.Duration) {
	if p.fetches == 0 {
		p.first = at
	}
	p.fetches++
	p.last, p.took = at, p.took+took
	hash := maphash.Bytes(pageSeed, text)
	if p.updates > 0 && hash == p.hash {
		return
	}
	if p.updates == 0 {
		p.firstUpdate = at
	} else {
		p.between.add(float64(at-p.lastUpdate) / 1e6)
	}
	p.updates++
	p.lastUpdate, p.hash = at, hash
}

// comment learns a family's type and help.
func (l *ledger) comment(line []byte) {
	rest, isType := bytes.CutPrefix(line, []byte("# TYPE "))
	if !isType {
		var isHelp bool
		if rest, isHelp = bytes.CutPrefix(line, []byte("# HELP ")); !isHelp {
			return
		}
	}
	name, text, _ := bytes.Cut(bytes.TrimRight(rest, " \t\r\n"), []byte{' '})
	f, known := l.families[string(name)]
	if known && (!isType && f.help != "" || isType && f.kind != kindUnknown) || !known && len(l.families) >= maxAccounts {
		return
	}
	if !known {
		f.kind = kindUnknown
	}
	switch {
	case !isType:
		f.help = strings.ToValidUTF8(string(text), "\ufffd")
	case string(text) == "summary":
		f.kind = kindIgnored
	case slices.Contains([]string{"gauge", "counter", "histogram"}, string(text)):
		f.kind = kind(text)
	}
	l.families[string(name)] = f
}

// enter finds the account of a series that was not seen before.
func (l *ledger) enter(series []byte) entry {
	if len(l.lines) >= maxTexts {
		l.dropped++
		return entry{}
	}
	e := l.find(series)
	l.lines[string(series)] = e
	return e
}

func (l *ledger) find(series []byte) entry {
	text, labels, ok := parseSeries(series)
	if !ok {
		return entry{}
	}
	name, f, role := l.familyOf(text)
	if f.kind == kindIgnored {
		return entry{}
	}
	le := ""
	if role == partBuckets {
		le = valueOf(labels, "le")
		labels = without(labels, "le")
		if le == "" {
			return entry{}
		}
	}
	slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(a.name, b.name) })
	id := name + "\xff" + key(labels)
	a := l.accounts[id]
	if a == nil {
		if len(l.accounts) >= maxAccounts {
			l.dropped++
			return entry{}
		}
		a = &account{name: name, family: f, labels: labels, parts: make([]part, 1)}
		if f.kind == kindHistogram {
			a.parts = make([]part, partBuckets)
		}
		l.accounts[id] = a
	}
	if role == partBuckets {
		a.le = append(a.le, le)
		a.parts = append(a.parts, part{})
		return entry{a, len(a.parts) - 1}
	}
	return entry{a, role}
}

// familyOf finds a series' family, the family's name in the export, and which
// part of it the series is.
func (l *ledger) familyOf(name string) (string, family, int) {
	if f, ok := l.families[name]; ok && f.kind != kindUnknown && f.kind != kindHistogram {
		if base, created := strings.CutSuffix(name, "_created"); created && l.has(base) {
			return name, family{kind: kindIgnored}, 0
		}
		if f.kind == kindCounter {
			name = strings.TrimSuffix(name, totalSuffix)
		}
		return name, f, 0
	}
	for i, suffix := range []string{"_sum", "_count", "_bucket"} {
		base, ok := strings.CutSuffix(name, suffix)
		if f := l.families[base]; ok && f.kind == kindHistogram {
			return base, f, i
		} else if _, known := l.families[base]; ok && known && f.kind == kindIgnored {
			return base, f, 0
		}
	}
	if base, ok := strings.CutSuffix(name, totalSuffix); ok && l.families[base].kind == kindCounter {
		return base, l.families[base], 0
	}
	if base, ok := strings.CutSuffix(name, "_created"); ok && l.has(base) {
		return name, family{kind: kindIgnored}, 0
	}
	return name, family{kind: kindUnknown, help: l.families[name].help}, 0
}

func (l *ledger) has(base string) bool {
	_, plain := l.families[base]
	_, total := l.families[base+totalSuffix]
	return plain || total
}

// book enters a value into the segment that is open.
func (l *ledger) book(e entry, value float64, fresh bool) {
	a := e.account
	t := a.take(len(l.segments) - 1)
	p := &a.parts[e.part]
	before, seen := p.last, p.seen
	*p = part{value, l.last, true}
	switch a.family.kind {
	case kindCounter, kindHistogram:
		grown := value - before
		switch {
		case !seen && fresh:
			grown = 0 // counted before we looked
		case !seen:
			grown = value // created when it first counted
		case value < before:
			grown, t.reset = value, true
		}
		for len(t.grown) < len(a.parts) {
			t.grown = append(t.grown, 0)
		}
		t.grown[e.part] += grown
		if c := l.cell(t, l.last); c != nil {
			switch {
			case a.family.kind == kindCounter || e.part == partSum:
				c.sum += grown
			case e.part == partCount:
				c.n += grown
			}
		}
	default:
		t.spread.add(value)
		if c := l.cell(t, l.last); c != nil {
			if c.n == 0 || value < c.min {
				c.min = value
			}
			if c.n == 0 || value > c.max {
				c.max = value
			}
			c.sum += value
			c.n++
		}
	}
}

// take is an account's for a segment.
func (a *account) take(segment int) *take {
	for len(a.takes) <= segment {
		a.takes = append(a.takes, take{})
	}
	return &a.takes[segment]
}

// cell is the slice that a moment of the open segment falls into; nil when none
// is kept.
func (l *ledger) cell(t *take, at record.Stamp) *cell {
	open := l.segments[len(l.segments)-1]
	if l.slice <= 0 || open.name == "" || at < open.start {
		return nil
	}
	n := int(time.Duration(at-open.start) / l.slice)
	if need := n + 1 - len(t.slices); need > 0 {
		if l.cells+need > maxCells {
			return nil
		}
		l.cells += need
		t.slices = append(t.slices, make([]cell, need)...)
	}
	return &t.slices[n]
}

// cut ends a segment and begins the next, in which the gauges stand where they
// stood on the last page.
func (l *ledger) cut(name string, at record.Stamp) {
	l.segments = append(l.segments, span{name, max(at, l.last)})
	n := len(l.segments) - 1
	for _, a := range l.accounts {
		p := a.parts[0]
		if a.family.kind != kindCounter && a.family.kind != kindHistogram && p.seen && p.at == l.last {
			a.take(n).spread.add(p.last)
		}
	}
}
