//go:build unix

package run

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes an advisory lock that ends with the process, however that ends.
func lock(name string) (release func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() {
		_ = os.Remove(name)
		_ = f.Close()
	}, nil
}
