package table

import (
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/result"
)

// TestNoEnergy: what could not be measured has a reason and no figure, and nothing
// stands there where nobody looked.
func TestNoEnergy(t *testing.T) {
	d := fullDocument()
	d.Power = &result.Power{GPUs: 2, MaxPowerW: ptr(300.0), Reasons: []string{"sampling_gap", "\x1b[31modd", "c", "d", "e", "f"}}
	text := show(t, d, Options{})
	for _, want := range []string{"Power of 2 GPUs: 300 W at the peak of one\n", "No energy: sampling_gap · odd · c · d · and 2 more\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Energy:") {
		t.Error("energy without a figure")
	}
	if d.Power = nil; strings.Contains(show(t, d, Options{}), "nergy") {
		t.Error("energy though nobody read it")
	}
}
