package deploy

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A model that the engine does not serve is no matter of waiting.
func TestUnknownModel(t *testing.T) {
	d := Serve(func(ctx context.Context, l net.Listener) error {
		mux := http.NewServeMux()
		mux.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
		mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"data":[{"id":"a"},{"id":"b"}]}`))
		})
		server := &http.Server{Handler: mux}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		_ = server.Serve(l)
		return nil
	})
	_, err := Bring(t.Context(), d, Plan{Model: "other", NoMetrics: true})
	if err == nil || !strings.Contains(err.Error(), `does not serve the model "other"; it serves ["a" "b"]`) {
		t.Error(err)
	}
}
