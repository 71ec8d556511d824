//go:build unix

package corpus

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// errBusy says that another process holds the lock.
var errBusy = errors.New("another process holds the lock")

// tryLock takes an advisory lock that ends with the process, however that ends. held
// is false where the file system has none. The file stays: whoever removed it would let
// a third one in beside the second, who waits for the old file.
func tryLock(name string) (release func(), held bool, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, false, err
	}
	refused := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(refused, unix.EWOULDBLOCK) {
		_ = f.Close()
		return nil, false, errBusy
	}
	return func() { _ = f.Close() }, refused == nil, nil
}
