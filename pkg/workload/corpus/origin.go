package corpus

import (
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Origin is where the file of a public set came from.
type Origin struct {
	Name     string `json:"name"`
	Dataset  string `json:"dataset"`
	Revision string `json:"revision,omitzero"` // commit; empty when it isn't known
	SHA256   string `json:"sha256"`
	Bytes    int64  `json:"bytes"`
	// FetchedAt is zero for a file that was put there by hand.
	FetchedAt time.Time `json:"fetched_at,omitzero"`
}

// originName is the file beside the traces. Its name does not end like one of traces,
// for those who give the whole folder as their corpus.
func originName(file string) string { return file + ".origin" }

const mostOrigin = 64 << 10

// readOrigin is what was written down when the file was fetched. Whether it is still
// that file, only its sum tells.
func readOrigin(file string) (o Origin, ok bool) {
	f, err := os.Open(originName(file))
	if err != nil {
		return o, false
	}
	defer f.Close()
	if err := json.UnmarshalRead(io.LimitReader(f, mostOrigin), &o); err != nil {
		return Origin{}, false
	}
	return o, true
}

func (o Origin) write(file string) error {
	text, err := json.Marshal(o, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return os.WriteFile(originName(file), append(text, '\n'), 0o644)
}
