//go:build !linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// Sweep finds nothing: nothing can be started here.
func (d *Driver) Sweep(context.Context) ([]string, error) { return nil, nil }

// Start refuses.
func (d *Driver) Start(context.Context, string, io.Writer) (deploy.Engine, error) {
	return nil, fmt.Errorf("engines as processes are not supported on %s: what they leave behind is found in Linux's /proc. "+
		"Start the engine yourself and give its URL, or use docker: %w", runtime.GOOS, errors.ErrUnsupported)
}
