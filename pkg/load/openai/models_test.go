package openai

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModels(t *testing.T) {
	var path, key, kind string
	url := engine(t, func(w http.ResponseWriter, r *http.Request) {
		path, key, kind = r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type")
		answered(200, "application/json", `{"object":"list","data":[{"id":"a","object":"model","created":1,"root":"/models/a","max_model_len":131072,"permission":[]},{"id":"b","max_model_len":null}]}`)(w, r)
	})
	got, err := newClient(t, Config{URL: url + "/v1", APIKey: "sk-1"}).Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Model{{ID: "a", MaxModelLen: count(131072), Root: "/models/a"}, {ID: "b"}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if path != "/v1/models" || key != "Bearer sk-1" || kind != "" {
		t.Errorf("asked for %s with %q, content type %q", path, key, kind)
	}
}

func TestModelsNamesTheUrlAndTheRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		url   string
		words []string
	}{
		"down":         {"http://127.0.0.1:1", []string{"nothing listens", "is the engine up"}},
		"unauthorised": {engine(t, answered(401, "application/json", `{"error":"no sk-very-secret"}`)), []string{"HTTP 401", "check the API key", "***"}},
		"not found":    {engine(t, answered(404, "text/html", "<html>")), []string{"HTTP 404", "OpenAI API"}},
		"failing":      {engine(t, answered(500, "text/plain", "loading")), []string{"HTTP 500: loading"}},
		"web page":     {engine(t, answered(200, "text/html", "<html>hello")), []string{"no model list", "<html>hello"}},
		"empty list":   {engine(t, answered(200, "application/json", `{"data":[]}`)), []string{"serves no model"}},
		"no list":      {engine(t, answered(200, "application/json", `{"status":"ok"}`)), []string{"serves no model", "status"}},
		"nameless":     {engine(t, answered(200, "application/json", `{"data":[{"id":""}]}`)), []string{"without an id"}},
		"wrong type":   {engine(t, answered(200, "application/json", `{"data":[{"id":3}]}`)), []string{"no model list"}},
		"endless":      {engine(t, answered(200, "application/json", strings.Repeat(" ", maxModelsBytes+10))), []string{"longer than 4 MiB"}},
	} {
		_, err := newClient(t, Config{URL: c.url, APIKey: "sk-very-secret"}).Models(t.Context())
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, word := range append(c.words, "/v1/models") {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v; want %q in it", name, err, word)
			}
		}
		if strings.Contains(err.Error(), "very-secret") {
			t.Errorf("%s: the error holds the key: %v", name, err)
		}
	}
}
