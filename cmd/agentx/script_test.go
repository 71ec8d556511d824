package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/org/agentx-action/pkg/engine/deploy/docker/dockertest"
	"github.com/org/agentx-action/pkg/workload/corpus/hubtest"
)

func TestMain(m *testing.M) {
	testscript.Main(dockertest.Wrap(m), map[string]func(){"agentx": main, "agentx-post": main})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			hub := hubtest.New(hubtest.Traces(4)) // and no script asks another
			e.Defer(hub.Close)
			e.Setenv("HF_ENDPOINT", hub.URL)
			hub.Endpoint = func(w http.ResponseWriter, r *http.Request) bool {
				missing := strings.Contains(r.URL.Path, "/there/is/none/")
				if missing {
					w.Header().Set("X-Error-Code", "RevisionNotFound")
					w.WriteHeader(http.StatusNotFound)
				}
				return missing
			}
			return nil
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
