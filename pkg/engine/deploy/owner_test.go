package deploy

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

func TestOwner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc is Linux's")
	}
	self := Self()
	back, err := ParseOwner(self.String())
	if err != nil || back != self {
		t.Fatalf("%+v came back as %+v: %v", self, back, err)
	}
	if alive, known := back.Alive(); !alive || !known {
		t.Errorf("this process counts as alive %v, known %v", alive, known)
	}

	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	other := self
	other.PID, other.Started = cmd.Process.Pid, started(cmd.Process.Pid)
	_ = cmd.Wait()
	if alive, known := other.Alive(); alive || !known {
		t.Errorf("an ended process counts as alive %v, known %v", alive, known)
	}

	reused := self
	reused.Started = "1"
	if alive, _ := reused.Alive(); alive {
		t.Error("a process id that was given again counts as its first owner")
	}
	rebooted := self
	rebooted.Boot = "another"
	if alive, known := rebooted.Alive(); alive || !known {
		t.Error("what was started before the machine counts as alive")
	}
	elsewhere := self
	elsewhere.Namespace = "pid:[1]"
	if alive, known := elsewhere.Alive(); !alive || known {
		t.Error("a process of another container counts as known")
	}
}

func TestParseOwnerRefuses(t *testing.T) {
	for _, s := range []string{"", "a/b/c", "a/b/c/d", "a/b/-1/d", "a/b/1/d/e"} {
		if _, err := ParseOwner(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}
