package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/run"
)

// variable is one of AIPerf's environment variables (docs/environment.md).
type variable struct {
	name string
	set  func(o *run.Options, value string) error
}

var honoured = []variable{
	{"AIPERF_HTTP_KEEPALIVE_TIMEOUT", duration(time.Second, func(o *run.Options) *time.Duration { return &o.Client.KeepAlive })},
	{"AIPERF_HTTP_TCP_USER_TIMEOUT", duration(time.Millisecond, func(o *run.Options) *time.Duration { return &o.Client.UserTimeout })},
	{"AIPERF_HTTP_CONNECTION_LIMIT", connections},
	{"AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID", boolean(func(o *run.Options) *bool { return &o.Client.SessionID })},
	{"AIPERF_HTTP_X_SMG_ROUTING_KEY_FROM_CORRELATION_ID", boolean(func(o *run.Options) *bool { return &o.Client.SMGRoutingKey })},
	{"AIPERF_HTTP_X_DYNAMO_SESSION_ID_FROM_CORRELATION_ID", boolean(func(o *run.Options) *bool { return &o.Client.DynamoSessionID })},
	{"AIPERF_AGENTX_CONTEXT_OVERFLOW_SUBSTRINGS", overflowSubstrings},
	{"AIPERF_AGENTX_CONTEXT_OVERFLOW_RATE_LIMIT", overflowLimit},
}

// unchanged are variables that may ask for what happens anyway; another value has no effect.
var unchanged = map[string]string{
	"AIPERF_DATASET_WEKA_SPLIT_FLATTENED_AGENTS":         "true",
	"AIPERF_DATASET_WEKA_SEAM_MAX_GAP_SECONDS":           "3600",
	"AIPERF_DATASET_WEKA_SEAM_MIN_OVERLAP_RATIO":         "0.5",
	"AIPERF_DATASET_WEKA_AUX_MAX_REQUESTS":               "1",
	"AIPERF_DATASET_WEKA_AUX_ISL_RATIO":                  "0.1",
	"AIPERF_DATASET_WEKA_AUX_ISL_FLOOR":                  "16384",
	"AIPERF_DATASET_WEKA_AUX_CROSS_MODEL":                "true",
	"AIPERF_DATASET_WEKA_AUX_REDUCTION_OSL_MAX":          "4000",
	"AIPERF_DATASET_WEKA_AUX_REDUCTION_RATIO":            "20",
	"AIPERF_DATASET_WEKA_WORKER_GROUP_MIN":               "3",
	"AIPERF_DATASET_WEKA_TOOL_SHAPED_MESSAGES":           "false",
	"AIPERF_DATASET_WEKA_LIVE_ASSISTANT_RESPONSES":       "false",
	"AIPERF_DAG_FAIL_FAST":                               "false",
	"AIPERF_HTTP_X_SESSION_AFFINITY_FROM_CORRELATION_ID": "false",
}

// readEnvironment takes AIPerf's variables into the options and names those
// that have no effect.
func readEnvironment(o *run.Options, w io.Writer) error {
	var errs errorList
	var idle []string
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "AIPERF_") || value == "" {
			continue
		}
		if i := slices.IndexFunc(honoured, func(v variable) bool { return v.name == name }); i >= 0 {
			if err := honoured[i].set(o, value); err != nil {
				errs.add(fmt.Errorf("%s=%s: %w", name, value, err))
			}
			continue
		}
		if want, ok := unchanged[name]; ok && sameValue(value, want) {
			continue
		}
		idle = append(idle, name)
	}
	slices.Sort(idle)
	if len(idle) > 0 {
		fmt.Fprintf(w, "note: without effect: %s (see docs/environment.md)\n", strings.Join(idle, ", "))
	}
	return errs.join()
}

// sameValue compares as numbers and switches where both are.
func sameValue(a, b string) bool {
	if x, err := strconv.ParseFloat(a, 64); err == nil {
		if y, err := strconv.ParseFloat(b, 64); err == nil {
			return x == y
		}
	}
	if x, err := strconv.ParseBool(strings.ToLower(a)); err == nil {
		if y, err := strconv.ParseBool(b); err == nil {
			return x == y
		}
	}
	return a == b
}

func duration(unit time.Duration, field func(*run.Options) *time.Duration) func(*run.Options, string) error {
	return func(o *run.Options, value string) error {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(v) || v <= 0 || v > 1e9 {
			return fmt.Errorf("must be a number above 0")
		}
		if p := field(o); *p == 0 { // a flag of the same meaning wins
			*p = time.Duration(v * float64(unit))
		}
		return nil
	}
}

func boolean(field func(*run.Options) *bool) func(*run.Options, string) error {
	return func(o *run.Options, value string) error {
		on, err := strconv.ParseBool(strings.ToLower(value))
		if err != nil {
			return fmt.Errorf("must be true or false")
		}
		*field(o) = *field(o) || on
		return nil
	}
}

func connections(o *run.Options, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return fmt.Errorf("must be a whole number of at least 1")
	}
	o.Client.MaxConns = n
	return nil
}

func overflowSubstrings(o *run.Options, value string) error {
	if err := json.Unmarshal([]byte(value), &o.Client.OverflowSubstrings); err != nil {
		return fmt.Errorf("must be a JSON list of strings: %w", err)
	}
	return nil
}

func overflowLimit(o *run.Options, value string) error {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("must be a number from 0 to 1")
	}
	o.OverflowLimit = &v
	return nil
}
