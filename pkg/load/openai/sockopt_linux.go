package openai

import (
	"context"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// controlUserTimeout sets how long sent data may stay unacknowledged.
func controlUserTimeout(timeout time.Duration) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, _ string, raw syscall.RawConn) error {
		// A kernel that refuses the option only loses the earlier notice of a
		// dead peer.
		return raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(timeout.Milliseconds()))
		})
	}
}
