package replay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result/record"
)

// family has everything that decides a send time: two subagents of one branch
// that open while turn 0 runs and that turn 1 joins, a background branch that
// opens when turn 1 returns and outlives the root, and a long pause.
const family = `{"id":"a","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[
 {"t":0.5,"type":"n","model":"m","in":128,"out":10,"hash_ids":[1,2],"api_time":10},
 {"t":2.5,"type":"subagent","agent_id":"x","subagent_type":"Explore","status":"completed","duration_ms":47500,"requests":[
   {"t":2.5,"type":"n","model":"m","in":64,"out":5,"hash_ids":[9],"api_time":20},
   {"t":40,"type":"n","model":"m","in":128,"out":5,"hash_ids":[9,10],"api_time":10}]},
 {"t":4,"type":"subagent","agent_id":"y","subagent_type":"Explore","status":"completed","duration_ms":6000,"requests":[
   {"t":4,"type":"n","model":"m","in":64,"out":5,"hash_ids":[11],"api_time":6}]},
 {"t":60,"type":"n","model":"m","in":192,"out":10,"hash_ids":[1,2,3],"api_time":5},
 {"t":66,"type":"subagent","agent_id":"b","subagent_type":"Plan","status":"async_launched","requests":[
   {"t":67,"type":"n","model":"m","in":64,"out":5,"hash_ids":[20],"api_time":400},
   {"t":900,"type":"n","model":"m","in":128,"out":5,"hash_ids":[20,21],"api_time":10}]},
 {"t":100,"type":"n","model":"m","in":256,"out":10,"hash_ids":[1,2,3,4],"api_time":5},
 {"t":700,"type":"n","model":"m","in":320,"out":10,"hash_ids":[1,2,3,4,5],"api_time":5}]}
`

// chatter has gaps of 400 s that keep the system from being idle.
const chatter = `{"id":"c","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[
 {"t":0,"type":"n","model":"m","in":64,"out":5,"hash_ids":[1],"api_time":10},
 {"t":30,"type":"n","model":"m","in":128,"out":5,"hash_ids":[1,2],"api_time":10},
 {"t":440,"type":"n","model":"m","in":192,"out":5,"hash_ids":[1,2,3],"api_time":10}]}
`

// The times of this table are worked out by hand from spec/replay.md §4.5–4.9.
func TestHandTable(t *testing.T) {
	// Every request takes 3 s. One lane, no caps.
	//  0     root 0 is sent; x opens 2 s after it, y 3.5 s after it (both on issue)
	//  2     x 0 → 5; recorded gap 40−22.5 = 17.5 → 22.5 x 1 → 25.5
	//  3.5   y 0 → 6.5, done
	//  3     root 0 returns; gap 60−10.5 = 49.5 → 52.5 root 1 (joined at 25.5) → 55.5
	//  55.5  b opens on return (66 ≥ 65): its first turn 67−66 = 1 s later: 56.5 → 59.5; gap 900−467 = 433 → 492.5 → 495.5
	//  55.5  gap 100−65 = 35 → 90.5 root 2 → 93.5; gap 700−105 = 595 → 688.5 root 3 → 691.5: drained, recycled
	want := []string{
		"a/0@0.000", "a::sa:x/0@2.000", "a::sa:y/0@3.500", "a::sa:x/1@22.500", "a/1@52.500", "a::sa:b/0@56.500",
		"a/2@90.500", "a::sa:b/1@492.500", "a/3@688.500",
		"a/0@691.500", "a::sa:x/0@693.500", "a::sa:y/0@695.000",
	}
	p := replayed(t, read(t, family), Config{Duration: 700 * time.Second}, takes(3*time.Second))
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
	if p.err != nil || len(p.trees) != 2 || p.trees[0].Why != record.TreeDrained || p.trees[1].Why != record.TreeCut {
		t.Error(p.err, p.trees)
	}
	// In the recording: root 0 0→10, y 3.5→9.5, x 2→22 and 39.5→49.5, root 1 59.5→64.5, root 2
	// 99.5→104.5, root 3 699.5→704.5; b 65.5→465.5, 898.5→908.5.
	tree := p.trees[0]
	if !tree.Whole || time.Duration(tree.RecordedNs) != 908500*time.Millisecond || time.Duration(tree.End-tree.Start) != 691500*time.Millisecond {
		t.Errorf("%+v", tree)
	}
	if tree.Requests != 9 || tree.Children != 3 || tree.Joins != 1 || tree.PeakLive != 2 {
		t.Errorf("%+v", tree)
	}
}

func TestHandTableSystemCap(t *testing.T) {
	// As above, with never more than 10 s of silence.
	//  6.5   y 0 returns: idle; x 1 due 22.5 → 16.5 (skip 6); root 1 due 52.5 → 46.5
	//  19.5  x 1 returns; root 1 46.5 → 29.5 (skip 17) → 32.5
	//  33.5  b 0 → 36.5; b 1 due 469.5; root 2 due 67.5 → 46.5 (skip 21), b 1 → 448.5
	//  49.5  root 2 returns; root 3 due 644.5; b 1 448.5 → 59.5 (skip 389), root 3 → 255.5
	//  62.5  b 1 returns; root 3 255.5 → 72.5 (skip 183) → 75.5
	want := []string{
		"a/0@0.000", "a::sa:x/0@2.000", "a::sa:y/0@3.500", "a::sa:x/1@16.500", "a/1@29.500", "a::sa:b/0@33.500",
		"a/2@46.500", "a::sa:b/1@59.500", "a/3@72.500", "a/0@75.500",
	}
	p := replayed(t, read(t, family), Config{Duration: 76 * time.Second, SystemIdleCap: 10 * time.Second}, takes(3*time.Second))
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
	if want := (Skips{SystemJumps: 5, System: (6 + 17 + 21 + 389 + 183) * time.Second}); p.out.Skips != want {
		t.Errorf("%+v", p.out.Skips)
	}
	if tree := p.trees[0]; time.Duration(tree.SkippedNs) != 616*time.Second || time.Duration(tree.RecordedNs) != (908500-616000)*time.Millisecond {
		t.Errorf("%+v", tree)
	}
	for _, r := range p.requests {
		if r.Asked.Pass == 1 && r.Asked.SkippedMs != 0 {
			t.Error("a new tree has had nothing skipped yet, but says", r.Asked.SkippedMs)
		}
	}
}

func TestHandTableBothCapsTwoLanes(t *testing.T) {
	// Lane 0 plays a, lane 1 plays c; 3 s a request; a tree may be idle for 20 s, the system for 10 s.
	//  lane 1: 0 → 3, gap 20
	//  lane 0: 0 → 3, 2 → 5, 3.5 → 6.5; idle from 6.5. System: next is x 1 at 22.5 → 16.5 (skip 6), root 1 46.5, c 1 23 → 17
	//  16.5 x 1 → 19.5; c 1 17 → 20, gap 400 → 420. System idle from 20: next root 1 46.5 → 30 (skip 16.5), c 2 → 403.5
	//  30   root 1 → 33; b 0 34 → 37; root 2 due 68; b 1 due 470. c is idle since 20: its cap moves c 2 to 40.
	//  40   c 2 → 43: c is over; lane 1 draws a again (pass 1): 43 root 0 → 46, x 0 45 → 48, y 0 46.5 → 49.5
	//  lane 0 idle since 37: 57 is its cap, but the system is idle since 49.5: next is pass 1's x 1 at 65.5, root 2 of lane 0 at 68:
	//  57   tree cap: root 2 68 → 57 → 60 (tree skip 11; b 1 459), root 3 due 655
	//  65.5 pass 1's x 1 → 68.5 (system idle since 60: at 70, later); tree idle since 49.5
	//  pass 1 root 1: due 46+49.5 = 95.5; lane 0: idle since 60: cap at 80; system idle since 68.5: at 78.5 jump to it: 95.5 → 78.5 (skip 17), b 1 → 442, root 3 → 638
	//  78.5 pass 1 root 1 → 81.5; b 0 82.5 → 85.5 …; lane 0 at 80: b 1 → 80
	want := []string{
		"a/0@0.000", "c/0@0.000", "a::sa:x/0@2.000", "a::sa:y/0@3.500", "a::sa:x/1@16.500", "c/1@17.000",
		"a/1@30.000", "a::sa:b/0@34.000", "c/2@40.000",
		"a/0@43.000", "a::sa:x/0@45.000", "a::sa:y/0@46.500",
		"a/2@57.000", "a::sa:x/1@65.500", "a/1@78.500", "a::sa:b/1@80.000", "a::sa:b/0@82.500",
	}
	p := replayed(t, read(t, family+chatter), Config{Concurrency: 2, Duration: 83 * time.Second, SystemIdleCap: 10 * time.Second, TreeIdleCap: 20 * time.Second}, takes(3*time.Second))
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
}
