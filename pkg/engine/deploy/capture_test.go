package deploy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func silent(t *testing.T) func(string) {
	return func(what string) { t.Errorf("said %s", what) }
}

func TestCaptureKeepsBothEnds(t *testing.T) {
	const limit = 8 << 10
	for _, lines := range []int{0, 10, 380, 450, 600, 1000, 5000} {
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "logs", "engine.log")
			c := newCapture(file, limit, silent(t))
			var whole strings.Builder
			random := rand.New(rand.NewPCG(1, 2))
			for i := range lines {
				fmt.Fprintf(&whole, "line %08d ....\n", i)
			}
			for rest := whole.String(); rest != ""; {
				n := min(1+random.IntN(300), len(rest))
				if _, err := c.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			c.close()
			c.close()
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if left, _ := filepath.Glob(file + ".*"); len(left) > 0 {
				t.Errorf("left %v", left)
			}
			if whole.Len() <= limit {
				if string(got) != whole.String() {
					t.Errorf("%d bytes of %d, or others", len(got), whole.Len())
				}
				return
			}
			if len(got) > limit {
				t.Errorf("%d bytes, more than %d", len(got), limit)
			}
			before, after, cut := strings.Cut(string(got), "\n[agentx: ")
			var left int
			if _, err := fmt.Sscanf(after, "%d bytes are left out here]", &left); !cut || err != nil {
				t.Fatalf("says nothing of what is left out: %v", err)
			}
			_, after, _ = strings.Cut(after, "]\n")
			if !strings.HasPrefix(whole.String(), before) || !strings.HasSuffix(whole.String(), after) {
				t.Error("the ends are not those of the log")
			}
			if len(before) != limit/2 || len(after) < limit/2-200 || !strings.HasPrefix(after, "line ") {
				t.Errorf("%d bytes before, %d after, which begins with %.10q", len(before), len(after), after)
			}
			if len(before)+left+len(after) != whole.Len() {
				t.Errorf("%d + %d + %d bytes are not %d", len(before), left, len(after), whole.Len())
			}
		})
	}
}

// A log without lines is cut all the same.
func TestCaptureOfOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "engine.log")
	c := newCapture(file, 4<<10, silent(t))
	for range 100 {
		_, _ = c.Write([]byte(strings.Repeat("x", 1000)))
	}
	c.close()
	if info, err := os.Stat(file); err != nil || info.Size() > 4<<10 || info.Size() < 3<<10 {
		t.Errorf("%v, %v", info, err)
	}
}

// What was captured is on disk when this process is killed: nothing is closed.
func TestCaptureOfAKilledRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "engine.log")
	c := newCapture(file, 4<<10, silent(t))
	for i := range 1000 {
		fmt.Fprintf(c, "line %08d\n", i)
	}
	var all string
	for _, name := range []string{file, c.rolledName(), c.tailName()} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	if !strings.HasPrefix(all, "line 00000000\n") || !strings.HasSuffix(all, "line 00000999\n") {
		t.Error("an end is missing")
	}
	// The next run with the same file starts anew.
	c = newCapture(file, 4<<10, silent(t))
	c.close()
	if left, _ := filepath.Glob(file + "*"); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

func TestCaptureSaysOnceThatItCannot(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"/dev/full", filepath.Join(blocked, "engine.log")} {
		said := 0
		c := newCapture(file, 4<<10, func(string) { said++ })
		for i := range 1000 {
			if n, err := fmt.Fprintf(c, "line %d\n", i); err != nil || n == 0 {
				t.Fatal(n, err)
			}
		}
		c.close()
		if said != 1 {
			t.Errorf("%s: said %d times", file, said)
		}
		if got := c.lastLine(); got != "line 999" {
			t.Errorf("%s: the last line is %q", file, got)
		}
	}
}
