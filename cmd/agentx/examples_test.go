package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/org/agentx-action/pkg/config"
)

const examplesDir = "../../examples"

// examples are the configurations, by their path in the folder.
func examples(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(examplesDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".yaml" && filepath.Base(path) != "compose.yaml" {
			names = append(names, path)
		}
		return err
	})
	if err != nil || len(names) < 14 {
		t.Fatalf("%d examples, %v", len(names), err)
	}
	return names
}

// Every example says what it is for, fits the schema, and plans an engine; what its
// dry run prints is a configuration of the same engine.
func TestExamples(t *testing.T) {
	for name, value := range map[string]string{"LLM_D_URL": "http://127.0.0.1:8000", "LLM_D_METRICS": "http://127.0.0.1:8001/metrics"} {
		t.Setenv(name, value)
	}
	if os.Getenv("HOME") == "" {
		t.Setenv("HOME", "/home/me")
	}
	schema, list := compiled(t), runKeys(t)
	for _, path := range examples(t) {
		name, _ := filepath.Rel(examplesDir, path)
		path, err := filepath.Abs(path) // what is printed then holds anywhere
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			for i, head := range []string{"# What: ", "# Needs: ", "# Look at: "} {
				if !strings.HasPrefix(lines[i], head) || strings.HasPrefix(lines[3], "#") {
					t.Errorf("line %d does not begin with %q, or the head is longer than three lines", i+1, head)
				}
			}
			if err := bySchema(t, schema, string(text)); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
			first, errors, code := runMain("run", "--config", path, "--dry-run")
			if code != exitDone {
				t.Fatalf("exit code %d: %s", code, errors)
			}
			again := filepath.Join(t.TempDir(), "agentx.yaml")
			if err := os.WriteFile(again, []byte(first), 0o644); err != nil {
				t.Fatal(err)
			}
			second, errors, code := runMain("run", "--config", again, "--dry-run")
			if code != exitDone || engineOf(first) == "" || engineOf(first) != engineOf(second) {
				t.Errorf("exit code %d: %s\n%s\ncame back as\n%s", code, errors, engineOf(first), engineOf(second))
			}
			file, err := config.Read(path, text, list, os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			checkCompose(t, file)
		})
	}
}

func runMain(args ...string) (out, errors string, code int) {
	var stdout, stderr bytes.Buffer
	code = Main(args, nil, &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// engineOf is what a dry run says would be started.
func engineOf(dryRun string) string {
	_, engine, _ := strings.Cut(dryRun, "\n\n# The engine ")
	return engine
}

// checkCompose holds the Compose file of an example against what its
// configuration says of it.
func checkCompose(t *testing.T, file *config.File) {
	t.Helper()
	v, ok := file.Lookup("compose-file")
	if !ok {
		return
	}
	service, _ := file.Lookup("compose-service")
	metrics, _ := file.Lookup("compose-metrics")
	for _, name := range v.Text {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Services map[string]map[string]any
		}
		if err := yaml.Load(text, &doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, at := range slices.Concat(service.Text, metrics.Text) {
			wanted, _, _ := strings.Cut(at, ":")
			if doc.Services[wanted] == nil {
				t.Errorf("%s has no service %s", name, wanted)
			}
		}
		for s, body := range doc.Services {
			image, _ := body["image"].(string)
			if _, tag, _ := strings.Cut(image, ":"); tag == "" || tag == "latest" {
				t.Errorf("%s: the image of %s is %q: it wants a version", name, s, image)
			}
		}
		byDocker(t, name)
	}
}

// byDocker lets docker compose read a file, where it is installed.
func byDocker(t *testing.T, name string) {
	t.Helper()
	if exec.Command("docker", "compose", "version").Run() != nil {
		t.Log("no docker compose here: its own reading of the file is not tested")
		return
	}
	if out, err := exec.Command("docker", "compose", "-f", name, "config", "--quiet").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("docker compose refuses %s: %v\n%s", name, err, out)
	}
}

// The page lists every example.
func TestExamplesAreListed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(examplesDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range examples(t) {
		name, _ := filepath.Rel(examplesDir, path)
		if !strings.Contains(string(page), "("+filepath.ToSlash(name)+")") {
			t.Errorf("examples/README.md does not name %s", name)
		}
	}
}

// The configurations that the pages show are taken.
func TestSnippets(t *testing.T) {
	for _, page := range []string{"../../README.md", "../../docs/configuration.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "```yaml\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s shows no configuration", page)
		}
		for _, b := range blocks {
			snippet, _, _ := strings.Cut(b, "```")
			if strings.Contains(snippet, "\njobs:\n") {
				continue // a workflow: TestWorkflowsPlan
			}
			file := filepath.Join(t.TempDir(), "agentx.yaml")
			if err := os.WriteFile(file, []byte(snippet), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, errors, code := runMain("run", "--config", file, "--dry-run"); code != exitDone || !strings.Contains(out, "# The engine is started by:") {
				t.Errorf("%s: exit code %d: %s\n%s", page, code, errors, snippet)
			}
		}
	}
}
