//go:build !unix

package dockertest

// lock does nothing where advisory locks are not to be had.
func lock(string) (unlock func() error, err error) { return func() error { return nil }, nil }
