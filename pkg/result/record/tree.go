package record

import "fmt"

// Tree is one play of one trace on a lane (spec/replay.md §4.1).
type Tree struct {
	Num        int    `json:"num"`
	Lane       int    `json:"lane"`
	TraceID    string `json:"trace_id"`
	Pass       int    `json:"pass"`
	RootID     string `json:"root_correlation_id"`
	EnteredAtS Float  `json:"entered_at_s"` // t*: trace time of entry; 0 for a tree played from turn 0
	Whole      bool   `json:"whole"`        // played from turn 0 to the end, all of it measured

	Start Stamp   `json:"start_ns"`
	End   Stamp   `json:"end_ns,omitzero"` // absent when the run ended first
	Why   TreeEnd `json:"why"`

	Requests  int   `json:"requests"`
	Children  int   `json:"children"`   // child streams started
	Joins     int   `json:"joins"`      // join turns passed
	PeakLive  int   `json:"peak_live"`  // most requests of the tree in flight at once
	SkippedNs int64 `json:"skipped_ns"` // idle time that caps removed
	// RecordedNs is the time the same play takes with the recorded service
	// times and the same gaps, joins and skips (decisions.md 28). Only for Whole.
	RecordedNs int64 `json:"recorded_ns,omitzero"`
}

// Check looks for times that contradict each other.
func (t *Tree) Check() error {
	if t.Start < 0 || t.End < 0 || t.End.Seen() && t.End < t.Start {
		return fmt.Errorf("tree %d: end_ns (%d) is before start_ns (%d)", t.Num, t.End, t.Start)
	}
	return nil
}

// TreeEnd says how a tree ended.
type TreeEnd string

// How a tree ended.
const (
	TreeDrained  TreeEnd = "drained"  // every stream reached its end
	TreeOverflow TreeEnd = "overflow" // the root outgrew the engine's context
	TreeCut      TreeEnd = "cut"      // the run ended first
	TreeFailed   TreeEnd = "failed"   // dropped in warm-up
)

// Float is a plain number that the encoder refuses when it is not finite.
type Float = float64

// Sample is the client's own state, taken every two seconds (decisions.md 20).
type Sample struct {
	At        Stamp  `json:"at_ns"`
	Phase     Phase  `json:"phase"`
	LiveTrees int    `json:"live_trees"`
	InFlight  int    `json:"in_flight"`
	Waiting   int    `json:"waiting"`         // turns armed but not due
	Warmed    int    `json:"warmed,omitzero"` // warm-up requests answered
	Done      int    `json:"done"`            // measured requests answered
	Errors    int    `json:"errors"`
	TokensIn  int64  `json:"tokens_in"`
	TokensOut int64  `json:"tokens_out"`
	CPUShare  *Float `json:"cpu_share,omitzero"` // of the cores the client may use, 0..1
	LagMaxMs  Float  `json:"lag_max_ms"`         // largest due → sent since the last sample
	ConnMaxMs Float  `json:"conn_wait_max_ms"`   // largest wait for a connection since the last sample
	OldestMs  Float  `json:"oldest_ms,omitzero"` // age of the request that is in flight longest
	HeapBytes uint64 `json:"heap_bytes"`
}
