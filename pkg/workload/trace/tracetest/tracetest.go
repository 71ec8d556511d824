// Package tracetest finds the real traces that some tests and benchmarks read.
// They are not part of the project: where they are not, a test is skipped.
package tracetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Variable names the folder of real traces where it does not lie beside the
// checkout.
const Variable = "AGENTX_TEST_WEKA"

// Folder is the folder of real traces: where the variable points, or
// shared/data/weka beside the checkout. It skips the test where there is none.
func Folder(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv(Variable); dir != "" {
		return dir
	}
	for up := "."; len(up) < 40; up = filepath.Join(up, "..") {
		dir := filepath.Join(up, "shared", "data", "weka")
		if _, err := os.Stat(filepath.Join(dir, "oracle.json")); err == nil {
			return dir
		}
	}
	tb.Skip("the real traces (shared/data/weka) are not beside the checkout; " + Variable + " may name their folder")
	return ""
}

// Paths are the files of the real traces, in order.
func Paths(tb testing.TB) []string {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(Folder(tb), "trace_*.json"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no trace_*.json in %s: %v", Folder(tb), err)
	}
	return paths
}
