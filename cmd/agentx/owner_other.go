//go:build !unix

package main

// giveTo does nothing where files have no such owner.
func giveTo(_, _ string) error { return nil }
