package docker

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/moby/moby/client"
	"github.com/org/agentx-action/pkg/engine/deploy"
)

func TestLinesOfTwoStreamsStayWhole(t *testing.T) {
	var got bytes.Buffer
	out, diag := &lines{w: &got}, &lines{w: &got}
	for _, c := range []struct {
		to   *lines
		text string
	}{
		{out, "load"}, {diag, "warn"}, {out, "ing\nrea"}, {diag, "ing\n1%\r2"}, {out, "dy\n"}, {diag, "%"}, {out, "bye"},
	} {
		if n, err := c.to.Write([]byte(c.text)); n != len(c.text) || err != nil {
			t.Fatal(n, err)
		}
	}
	out.flush()
	diag.flush()
	if want := "loading\nwarning\n1%\rready\nbye2%"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
	got.Reset()
	endless := strings.Repeat("x", 3*maxLine)
	for part := range strings.SplitSeq(endless, "") {
		_, _ = out.Write([]byte(part))
		if len(out.part) > maxLine {
			t.Fatalf("%d bytes are kept", len(out.part))
		}
	}
	out.flush()
	if got.String() != endless {
		t.Errorf("%d bytes of %d", got.Len(), len(endless))
	}
}

// TestLogWithoutSecrets: an engine prints its arguments; none is in the log.
func TestLogWithoutSecrets(t *testing.T) {
	var frames, got bytes.Buffer
	for _, text := range []string{"args: api_key='sk-ca", "nary'\n", "ends with sk-can"} {
		frames.Write([]byte{1, 0, 0, 0, 0, 0, 0, byte(len(text))}) // standard output, 32 bits of length
		frames.WriteString(text)
	}
	e := &engine{
		logged:  make(chan struct{}),
		secrets: deploy.SecretsOf([]string{"--api-key", "sk-canary"}, nil),
		output:  client.ContainerAttachResult{HijackedResponse: client.HijackedResponse{Reader: bufio.NewReader(&frames)}},
	}
	e.copyLogs(&got)
	if want := "args: api_key='***'\nends with sk-can"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}
