//go:build unix

package dockertest

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock waits for a lock of this machine, which ends with the process at the latest.
func lock(name string) (unlock func() error, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f.Close, nil
}
