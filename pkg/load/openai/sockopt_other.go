//go:build !linux

package openai

import (
	"context"
	"syscall"
	"time"
)

func controlUserTimeout(time.Duration) func(context.Context, string, string, syscall.RawConn) error {
	return nil
}
