package gpu

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets the test binary be nvidia-smi: what it says is in the environment.
func TestMain(m *testing.M) {
	switch say := os.Getenv("FAKE_NVIDIA_SMI"); say {
	case "":
		os.Exit(m.Run())
	case "hang":
		time.Sleep(time.Minute)
	case "flood":
		for range 3000 {
			fmt.Println(strings.Repeat("x", 1000))
		}
	case "fail":
		fmt.Println("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
		os.Exit(9)
	default:
		text, err := os.ReadFile(say)
		if err != nil || !strings.HasPrefix(os.Args[1], "--query-") || os.Args[2] != "--format=csv" {
			fmt.Fprintln(os.Stderr, "unexpected", os.Args, err)
			os.Exit(2)
		}
		os.Stdout.Write(text)
	}
}

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func f(v float64) *float64 { return &v }

var h200 = []Device{
	{Index: 0, UUID: "GPU-6d3a0c5e-0000-0000-0000-000000000000", Name: "NVIDIA H200", Driver: "570.133.20", MemoryTotalMiB: f(143771), MemoryUsedMiB: f(126904),
		PowerW: f(412.37), TemperatureC: f(48), UtilizationPercent: f(93), SMClockMHz: f(1980)},
	{Index: 1, UUID: "GPU-6d3a0c5e-0000-0000-0000-000000000001", Name: "NVIDIA H200", Driver: "570.133.20", MemoryTotalMiB: f(143771), MemoryUsedMiB: f(4),
		PowerW: f(75.9), TemperatureC: f(29), UtilizationPercent: f(0), SMClockMHz: f(345)},
}

func TestSMI(t *testing.T) {
	smi := Host{Path: os.Args[0]}
	t.Setenv("FAKE_NVIDIA_SMI", filepath.Join("testdata", "devices_h200.csv"))
	devices, err := Devices(t.Context(), smi)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h200, devices); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	if !devices[0].InUse() || devices[1].InUse() {
		t.Errorf("in use: %v, %v; want only the first", devices[0].InUse(), devices[1].InUse())
	}
	t.Setenv("FAKE_NVIDIA_SMI", filepath.Join("testdata", "processes.csv"))
	processes, err := Processes(t.Context(), smi)
	if err != nil {
		t.Fatal(err)
	}
	want := []Process{
		{UUID: h200[0].UUID, PID: 41234, Name: "VLLM::EngineCore", UsedMiB: f(126880)},
		{UUID: h200[1].UUID, PID: 977, Name: "/opt/a, b/python3"},
	}
	if diff := cmp.Diff(want, processes); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}

	for say, want := range map[string]string{"fail": "communicate with the NVIDIA driver", "flood": "bytes of output"} {
		t.Setenv("FAKE_NVIDIA_SMI", say)
		if _, err := Devices(t.Context(), smi); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", say, err, want)
		}
	}
	t.Setenv("FAKE_NVIDIA_SMI", "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Devices(ctx, smi); err == nil {
		t.Error("no error of one that hangs")
	}
	if _, err := Devices(t.Context(), Host{Path: "/does/not/exist"}); err == nil {
		t.Error("no error of one that is not there")
	}
}

func TestParseDevices(t *testing.T) {
	got, err := ParseDevices(recorded(t, "devices_lacking.csv"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Device{{Index: 0, UUID: "GPU-a", Name: "NVIDIA A100-SXM4-80GB MIG 1g.10gb", Driver: "535.129.03"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	head := "index, uuid, name, driver_version, memory.total [MiB], memory.used [MiB], power.draw [W], temperature.gpu, utilization.gpu [%], clocks.current.sm [MHz]\n"
	for name, text := range map[string]string{
		"nothing":        "",
		"no GPU":         "No devices were found\n",
		"another table":  "name, uuid\nx, y\n",
		"short":          head + "0, GPU-a, X\n",
		"bad index":      head + "zero, u, n, d, 1 MiB, 1 MiB, 1 W, 1, 1 %, 1 MHz\n",
		"not a number":   head + "0, u, n, d, much MiB, 1 MiB, 1 W, 1, 1 %, 1 MHz\n",
		"negative":       head + "0, u, n, d, 1 MiB, 1 MiB, -1 W, 1, 1 %, 1 MHz\n",
		"infinite":       head + "0, u, n, d, 1 MiB, 1 MiB, Inf W, 1, 1 %, 1 MHz\n",
		"another unit":   head + "0, u, n, d, 1 MiB, 1 MiB, 1 hp, 1, 1 %, 1 MHz\n",
		"not text":       head + "0, \xff, n, d, 1 MiB, 1 MiB, 1 W, 1, 1 %, 1 MHz\n",
		"endless output": head + strings.Repeat("0, u, n, d, 1 MiB, 1 MiB, 1 W, 1, 1 %, 1 MHz\n", maxRows+1),
	} {
		if got, err := ParseDevices([]byte(text)); err == nil {
			t.Errorf("%s: read as %v", name, got)
		}
	}
	if got, err := ParseDevices([]byte(head + "3, u, n, d, 2 GiB, 512 KiB, 1500 mW, 1, 1 %, 1 GHz\r\n")); err != nil || *got[0].MemoryTotalMiB != 2048 || *got[0].PowerW != 1.5 {
		t.Errorf("other units: %+v, %v", got, err)
	}
	if got, err := ParseProcesses([]byte("gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n")); err != nil || got != nil {
		t.Errorf("no process: %v, %v", got, err)
	}
}

func TestDCGM(t *testing.T) {
	page := recorded(t, "dcgm.txt")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = w.Write(page)
		}
	}))
	defer server.Close()
	exporter, err := NewExporter(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := exporter.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const name, driver = "NVIDIA H100 80GB HBM3", "570.133.20"
	want := []Device{
		{Index: 0, UUID: "GPU-0", Name: name, Driver: driver, Host: "n1", MemoryTotalMiB: f(81000), MemoryUsedMiB: f(73000),
			PowerW: f(512.5), EnergyJ: f(7299606.661), UtilizationPercent: f(97), SMClockMHz: f(1980)},
		{Index: 1, UUID: "GPU-1", Name: name, Driver: driver, Host: "n1", MemoryTotalMiB: f(81000), MemoryUsedMiB: f(0),
			PowerW: f(70.25), SMClockMHz: f(345)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	page = []byte("vllm:prompt_tokens_total 4\n")
	if _, err := exporter.Devices(t.Context()); err == nil || !strings.Contains(err.Error(), server.URL) {
		t.Errorf("another page: %v", err)
	}
	if _, err := NewExporter("http://"); err == nil {
		t.Error("an address without a host")
	}
}

func FuzzSMI(f *testing.F) {
	for _, name := range []string{"devices_h200.csv", "devices_lacking.csv", "processes.csv"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		devices, err := ParseDevices(out)
		if err == nil {
			for _, d := range devices {
				for _, v := range []*float64{d.MemoryTotalMiB, d.MemoryUsedMiB, d.PowerW, d.UtilizationPercent} {
					if v != nil && !(*v >= 0 && *v <= 1e16) {
						t.Errorf("a figure of %v", *v)
					}
				}
			}
		}
		if processes, err := ParseProcesses(out); err == nil && len(processes) > maxRows {
			t.Error("too many")
		}
	})
}

func FuzzDCGM(f *testing.F) {
	f.Add(recorded(f, "dcgm.txt"))
	f.Fuzz(func(t *testing.T, page []byte) {
		devices, err := ParseDCGM(page)
		if err == nil && len(devices) == 0 {
			t.Error("neither devices nor an error")
		}
	})
}
