// Command nvidia-smi shows two GPUs. The second doesn't tell its memory, and somebody
// computes on both.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	switch query := os.Args[1]; {
	case strings.HasPrefix(query, "--query-gpu="):
		fmt.Print(`index, uuid, name, driver_version, memory.total [MiB], memory.used [MiB], power.draw [W], temperature.gpu, utilization.gpu [%], clocks.current.sm [MHz]
0, GPU-0, NVIDIA GB10, 580.65, 122880 MiB, 4000 MiB, 75.90 W, 29, 0 %, 345 MHz
1, GPU-1, NVIDIA GB10, 580.65, [N/A], [N/A], 75.90 W, 29, 0 %, 345 MHz
`)
	case strings.HasPrefix(query, "--query-compute-apps="):
		fmt.Print(`gpu_uuid, pid, process_name, used_gpu_memory [MiB]
GPU-0, 4141, python3, 3000 MiB
GPU-1, 4242, python3, [N/A]
`)
	default:
		os.Exit(2)
	}
}
