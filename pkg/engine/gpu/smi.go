package gpu

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/org/agentx-action/pkg/engine/output"
)

// Command is the program that a [Runner] runs.
const Command = "nvidia-smi"

// Bounds of one run of it.
const (
	runTimeout = 20 * time.Second // cold drivers take some seconds a GPU
	maxOutput  = 1 << 20          // bytes
	maxRows    = 4096
)

// Runner runs nvidia-smi with arguments somewhere, in bounded time and with
// bounded output, and gives its standard output.
type Runner interface {
	Run(ctx context.Context, args ...string) ([]byte, error)
}

// RunnerFunc is a function as a Runner: a short container of the engine's image.
type RunnerFunc func(ctx context.Context, args ...string) ([]byte, error)

// Run calls the function.
func (f RunnerFunc) Run(ctx context.Context, args ...string) ([]byte, error) { return f(ctx, args...) }

// Host runs nvidia-smi on this machine.
type Host struct {
	// Path of the program; empty looks for it on PATH.
	Path string
}

// Available reports whether nvidia-smi is on PATH.
func Available() bool {
	_, err := exec.LookPath(Command)
	return err == nil
}

// Run runs it. It fails with the program's own words.
func (h Host) Run(ctx context.Context, args ...string) ([]byte, error) {
	path := h.Path
	if path == "" {
		path = Command
	}
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	out, words := output.Head{Limit: maxOutput}, output.Head{Limit: maxOutput}
	c := exec.CommandContext(ctx, path, args...)
	c.Stdout, c.Stderr, c.WaitDelay = &out, &words, time.Second
	err := c.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: no answer within %v", Command, runTimeout)
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%s is not installed", Command)
	case err != nil:
		said := strings.Join(strings.Fields(words.String()+" "+out.String()), " ")
		return nil, fmt.Errorf("%s: %w: %s", Command, err, strings.ToValidUTF8(said[:min(len(said), 300)], "\ufffd"))
	case out.Cut:
		return nil, fmt.Errorf("%s: more than %d bytes of output", Command, maxOutput)
	}
	return out.Bytes(), nil
}

var (
	deviceFields  = []string{"index", "uuid", "name", "driver_version", "memory.total", "memory.used", "power.draw", "temperature.gpu", "utilization.gpu", "clocks.sm"}
	processFields = []string{"gpu_uuid", "pid", "process_name", "used_memory"}
)

// Devices asks for all GPUs.
func Devices(ctx context.Context, r Runner) ([]Device, error) {
	out, err := r.Run(ctx, "--query-gpu="+strings.Join(deviceFields, ","), "--format=csv")
	if err != nil {
		return nil, err
	}
	return ParseDevices(out)
}

// Processes asks for all processes that compute on a GPU. Inside a container
// nvidia-smi may show none though there are some.
func Processes(ctx context.Context, r Runner) ([]Process, error) {
	out, err := r.Run(ctx, "--query-compute-apps="+strings.Join(processFields, ","), "--format=csv")
	if err != nil {
		return nil, err
	}
	return ParseProcesses(out)
}

// ParseDevices reads the answer to the query of [Devices].
func ParseDevices(out []byte) ([]Device, error) {
	rows, err := rows(out, "index", len(deviceFields))
	if err != nil {
		return nil, err
	}
	var devices []Device
	for _, row := range rows {
		if len(row) != len(deviceFields) {
			return nil, fmt.Errorf("%s: a line of %d fields, want %d: %q", Command, len(row), len(deviceFields), row)
		}
		index, err := strconv.Atoi(row[0])
		if err != nil || index < 0 {
			return nil, fmt.Errorf("%s: %q is no index of a GPU", Command, row[0])
		}
		d := Device{Index: index, UUID: known(row[1]), Name: known(row[2]), Driver: known(row[3])}
		for i, f := range []struct {
			to   **float64
			unit string
		}{{&d.MemoryTotalMiB, "MiB"}, {&d.MemoryUsedMiB, "MiB"}, {&d.PowerW, "W"}, {&d.TemperatureC, ""}, {&d.UtilizationPercent, "%"}, {&d.SMClockMHz, "MHz"}} {
			if *f.to, err = quantity(row[4+i], f.unit); err != nil {
				return nil, fmt.Errorf("%s: GPU %d, %s: %w", Command, index, deviceFields[4+i], err)
			}
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// ParseProcesses reads the answer to the query of [Processes].
func ParseProcesses(out []byte) ([]Process, error) {
	rows, err := rows(out, "gpu_uuid", len(processFields))
	if err != nil {
		return nil, err
	}
	var processes []Process
	for _, row := range rows {
		n := len(row)
		if n < len(processFields) {
			return nil, fmt.Errorf("%s: a line of %d fields, want %d: %q", Command, n, len(processFields), row)
		}
		pid, err := strconv.Atoi(row[1])
		if err != nil || pid < 0 {
			return nil, fmt.Errorf("%s: %q is no process", Command, row[1])
		}
		used, err := quantity(row[n-1], "MiB")
		if err != nil {
			return nil, fmt.Errorf("%s: process %d: %w", Command, pid, err)
		}
		name := strings.Join(row[2:n-1], ", ") // nothing quotes a comma in it
		processes = append(processes, Process{UUID: known(row[0]), PID: pid, Name: known(name), UsedMiB: used})
	}
	return processes, nil
}

// rows splits CSV with a header that begins with a name and says the units.
func rows(out []byte, first string, fields int) ([][]string, error) {
	if !utf8.Valid(out) || bytes.IndexByte(out, 0) >= 0 {
		return nil, fmt.Errorf("%s: the output is not text", Command)
	}
	read := csv.NewReader(bytes.NewReader(out))
	read.FieldsPerRecord, read.LazyQuotes, read.TrimLeadingSpace = -1, true, true
	head, err := read.Read()
	if err != nil || len(head) != fields || strings.TrimSpace(head[0]) != first {
		text := strings.TrimSpace(string(out[:min(len(out), 200)]))
		return nil, fmt.Errorf("%s: want a table that begins with %s, got %q", Command, first, strings.ToValidUTF8(text, ""))
	}
	var all [][]string
	for {
		row, err := read.Read()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Command, err)
		}
		if len(all) >= maxRows {
			return nil, fmt.Errorf("%s: more than %d lines", Command, maxRows)
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		all = append(all, row)
	}
}

// known is a text, empty when nvidia-smi puts a reason in its place: [N/A],
// [Not Supported], [Insufficient Permissions], [Unknown Error].
func known(text string) string {
	if text == "N/A" || strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		return ""
	}
	return text
}

// units are what a unit is of the one asked for.
var units = map[string]map[string]float64{
	"MiB": {"B": 1.0 / (1 << 20), "KiB": 1.0 / (1 << 10), "MiB": 1, "GiB": 1 << 10},
	"W":   {"mW": 1e-3, "W": 1},
	"MHz": {"MHz": 1, "GHz": 1e3},
	"%":   {"%": 1},
}

// quantity reads a number with its unit; nil when there is none.
func quantity(text, unit string) (*float64, error) {
	if text = known(text); text == "" {
		return nil, nil
	}
	number, of, _ := strings.Cut(text, " ")
	scale := 1.0
	if of = strings.TrimSpace(of); of != "" {
		var ok bool
		if scale, ok = units[unit][of]; !ok {
			return nil, fmt.Errorf("%q is not in %s", text, unit)
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= scale
	if err != nil || !(v >= 0 && v < 1e12) {
		return nil, fmt.Errorf("%q is no quantity", text)
	}
	if math.Signbit(v) { // -0
		v = 0
	}
	return &v, nil
}
