package main

import (
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/publish/actions"
)

func TestCommandsInWords(t *testing.T) {
	var out strings.Builder
	a := actions.New(actions.WithWriter(&inWords{w: &out}), actions.WithGetenv(func(string) string { return "" }))
	at := a.WithFieldsMap(map[string]string{"title": "AgentX: no result, none", "file": "x"})
	a.Group("Run")
	a.AddMask("canary")
	at.Errorf("12 %% of it:\nall, %%0A")
	a.Warningf("w")
	a.Noticef("n")
	a.Debugf("d")
	a.Infof("plain\n::error::forged")
	a.EndGroup()
	want := "error: AgentX: no result, none: 12 % of it:\nall, %0A\nwarning: w\nnotice: n\nplain\nerror: forged\n"
	if out.String() != want {
		t.Errorf("got %q\nwant %q", out.String(), want)
	}
}
