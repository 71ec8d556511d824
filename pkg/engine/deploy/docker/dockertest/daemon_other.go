//go:build !linux

package dockertest

import "errors"

// startDaemon starts none: dockerd runs on Linux.
func startDaemon() (host string, stop func() error, err error) {
	return "", nil, errors.New("dockerd can be started on Linux only")
}
