package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/run"
)

// simFlags describe the embedded engine.
type simFlags struct {
	SimConfig string   `placeholder:"FILE" help:"JSON file with the embedded engine's parameters." group:"Embedded engine" config:"path"`
	SimSet    []string `name:"sim-set" sep:"none" placeholder:"KEY=VALUE" help:"One of its parameters, as cost.step_base_ms=6 or faults.error_rate=0.05." group:"Embedded engine"`
}

// config is the default engine with the file and then the single parameters laid over it.
func (f *simFlags) config() (sim.Config, error) {
	cfg := sim.Default()
	if f.SimConfig != "" {
		text, err := readBounded(f.SimConfig, 1<<20)
		if err != nil {
			return cfg, &run.UsageError{Err: err}
		}
		if err := overlay(&cfg, text); err != nil {
			return cfg, &run.UsageError{Err: fmt.Errorf("%s: %w", f.SimConfig, err)}
		}
	}
	for _, set := range f.SimSet {
		key, value, ok := strings.Cut(set, "=")
		if !ok {
			return cfg, &run.UsageError{Err: fmt.Errorf("--sim-set %s: want KEY=VALUE", set)}
		}
		if err := overlay(&cfg, nest(strings.Split(key, "."), value)); err != nil {
			return cfg, &run.UsageError{Err: fmt.Errorf("--sim-set %s: %w", set, err)}
		}
	}
	if err := cfg.Validate(); err != nil {
		return cfg, &run.UsageError{Err: fmt.Errorf("embedded engine: %w", err)}
	}
	return cfg, nil
}

func overlay(cfg *sim.Config, text []byte) error {
	return json.Unmarshal(text, cfg, json.RejectUnknownMembers(true))
}

// nest makes {"a":{"b":value}} of a path; a value that is no JSON is a string.
func nest(path []string, value string) []byte {
	v := jsontext.Value(value)
	if !v.IsValid() {
		v, _ = jsontext.AppendQuote(nil, value)
	}
	text := string(v)
	for i := len(path) - 1; i >= 0; i-- {
		text = "{" + strconv.Quote(path[i]) + ":" + text + "}"
	}
	return []byte(text)
}

func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: larger than %d bytes", name, limit)
	}
	return text, err
}

// simCmd serves the embedded engine.
type simCmd struct {
	Host   string `default:"127.0.0.1" help:"Address to listen on."`
	Port   int    `default:"8000" help:"Port; 0 takes a free one."`
	Model  string `help:"Name of the model served; sim when not given." placeholder:"NAME"`
	APIKey string `name:"api-key" help:"Bearer token to demand." placeholder:"KEY"`
	simFlags
}

// Help explains the model below the flags.
func (s *simCmd) Help() string {
	// Indented lines are left as they are; others would be wrapped.
	return "The model, with the default parameters:\n\n\t" + strings.ReplaceAll(strings.TrimSpace(sim.Default().Describe()), "\n", "\n\t") + "\n"
}

// Run is called by the parser.
func (s *simCmd) Run(c *console) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	if s.Model != "" {
		cfg.Model = s.Model
	}
	if cfg.Version == "" || cfg.Version == "sim" {
		cfg.Version = run.Version
	}
	if s.APIKey != "" {
		cfg.APIKey = s.APIKey
	}
	server, err := sim.New(cfg)
	if err != nil {
		return &run.UsageError{Err: err}
	}
	defer server.Close()
	listener, err := net.Listen("tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		return fmt.Errorf("%w; choose another --port, or 0 for a free one", err)
	}
	fmt.Fprint(c.out, cfg.Describe())
	fmt.Fprintf(c.out, "\nserving model %q at http://%s (end with Ctrl-C)\n", cfg.Model, listener.Addr())
	if err := server.Serve(c.ctx, listener); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
