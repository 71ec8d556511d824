package table

import (
	"fmt"
	"io"

	"github.com/org/agentx-action/pkg/result"
)

type Options struct{ HTTP bool }

func Result(w io.Writer, d *result.Document, o Options) error {
	fmt.Fprintf(w, "%+v\n%+v\n", d.Requests, d.Validity)
	return nil
}
