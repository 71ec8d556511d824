package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// lowestPort that is picked; below are those that people give their services.
const lowestPort = 15_000

// choosePort gives the wanted port, or picks one: it lies below those that the
// system gives to outgoing connections, since an engine may load for an hour
// before it listens, and is no other engine's.
func choosePort(wanted int, claimed []int) (int, error) {
	if wanted < 0 || wanted > 65535 {
		return 0, fmt.Errorf("port %d: give one from 1 to 65535, or 0 for a free one", wanted)
	}
	if wanted != 0 {
		if open, holder := portOpen(wanted); open {
			return 0, fmt.Errorf("port %d is taken by %s: end that, or give another port (0 picks a free one)", wanted, holder)
		}
		if !free(wanted) {
			return 0, fmt.Errorf("port %d can't be used: give another port (0 picks a free one)", wanted)
		}
		return wanted, nil
	}
	taken := map[int]bool{}
	for _, port := range claimed {
		taken[port] = true
	}
	if span := firstOutgoing() - lowestPort; span > 1000 {
		for range 100 {
			if port := lowestPort + rand.IntN(span); !taken[port] && free(port) {
				return port, nil
			}
		}
	}
	for range 100 {
		listener, err := net.Listen("tcp", ":0")
		if err != nil {
			return 0, fmt.Errorf("no free port: %w", err)
		}
		_ = listener.Close()
		if port := listener.Addr().(*net.TCPAddr).Port; !taken[port] {
			return port, nil
		}
	}
	return 0, errors.New("no free port")
}

// firstOutgoing is the lowest port of outgoing connections.
func firstOutgoing() int {
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	var low, high int
	if _, err := fmt.Sscan(string(text), &low, &high); err != nil {
		return 0
	}
	return low
}

func free(port int) bool {
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	_ = listener.Close()
	return true
}
