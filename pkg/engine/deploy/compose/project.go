package compose

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// project is what docker compose makes of the files: "config --format json".
type project struct {
	Services map[string]service `json:"services"`
	Networks map[string]thing   `json:"networks"`
	Volumes  map[string]thing   `json:"volumes"`
}

type service struct {
	Image       string             `json:"image"`
	Environment map[string]*string `json:"environment"`
	Entrypoint  []string           `json:"entrypoint"`
	Command     []string           `json:"command"`
	Scale       *int               `json:"scale"`
	Deploy      struct {
		Replicas *int `json:"replicas"`
	} `json:"deploy"`
	NetworkMode string `json:"network_mode"`
	Ports       []struct {
		Target   uint16 `json:"target"`
		Protocol string `json:"protocol"`
	} `json:"ports"`
	DependsOn map[string]struct {
		Condition string `json:"condition"`
	} `json:"depends_on"`
}

// thing is a network or a volume.
type thing struct {
	Name     string `json:"name"`
	External bool   `json:"external"`
}

// project reads the files with all variables filled in.
func (c *command) project(ctx context.Context) (*project, error) {
	text, err := c.output(ctx, "config", "--format", "json")
	if err != nil {
		return nil, err
	}
	p := &project{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("docker compose config: %w", err)
	}
	return p, nil
}

// secrets are those of the files and of the driver.
func (p *project) secrets(env []deploy.Var) deploy.Secrets {
	env = slices.Clone(env)
	var words []string
	for _, s := range p.Services {
		words = append(append(words, s.Entrypoint...), s.Command...)
		words = append(words, "--") // so that no flag of one takes the next one's words
		for name, value := range s.Environment {
			if value != nil {
				env = append(env, deploy.Var{Name: name, Value: *value})
			}
		}
	}
	return deploy.SecretsOf(words, env)
}

func (s *service) replicas() int {
	switch {
	case s.Scale != nil:
		return *s.Scale
	case s.Deploy.Replicas != nil:
		return *s.Deploy.Replicas
	}
	return 1
}

func (s *service) onHost() bool { return s.NetworkMode == "host" }

func (s *service) publishes(port uint16) bool {
	for _, p := range s.Ports {
		if p.Target == port && p.Protocol != "udp" {
			return true
		}
	}
	return false
}

// completes tells whether another service waits for this one to end well.
func (p *project) completes(name string) bool {
	for _, s := range p.Services {
		if s.DependsOn[name].Condition == "service_completed_successfully" {
			return true
		}
	}
	return false
}

// check wants the services that the driver asks for.
func (p *project) check(d *Driver) error {
	for _, port := range append([]Port{d.Endpoint}, d.Metrics...) {
		s, ok := p.Services[port.Service]
		switch {
		case port == Port{}:
			return fmt.Errorf("compose: no endpoint given: say service:port of %s", p.names())
		case !ok:
			return fmt.Errorf("compose: %s: the project has no service %q; it has %s", port, port.Service, p.names())
		case s.replicas() < 1:
			return fmt.Errorf("compose: %s: the service has %d replicas", port, s.replicas())
		case s.NetworkMode != "" && !s.onHost() && s.NetworkMode != "bridge":
			return fmt.Errorf("compose: %s: network_mode %s publishes no ports; name the service whose network it uses", port, s.NetworkMode)
		}
	}
	s := p.Services[d.Endpoint.Service]
	if n := s.replicas(); n > 1 {
		return fmt.Errorf("compose: %s: the service has %d replicas and only one would be measured; put a router before them", d.Endpoint, n)
	}
	return nil
}

func (p *project) names() string {
	return strings.Join(slices.Sorted(maps.Keys(p.Services)), ", ")
}

// override is the file that is laid over the user's: the mark on everything that
// would be created, no restarts, and the ports that are asked for on the loopback.
// JSON is YAML.
func (p *project) override(name string, mark map[string]string, d *Driver, address string) ([]byte, error) {
	type over struct {
		Labels  map[string]string `json:"labels"`
		Restart string            `json:"restart,omitzero"`
		Ports   []string          `json:"ports,omitzero"`
	}
	file := map[string]map[string]over{"services": {}, "networks": {}, "volumes": {}}
	for name := range p.Services {
		file["services"][name] = over{Labels: mark, Restart: "no"}
	}
	for _, port := range append([]Port{d.Endpoint}, d.Metrics...) {
		text := address + "::" + strconv.Itoa(int(port.Port))
		o, s := file["services"][port.Service], p.Services[port.Service]
		if s.onHost() || s.publishes(port.Port) || slices.Contains(o.Ports, text) {
			continue
		}
		o.Ports = append(o.Ports, text)
		file["services"][port.Service] = o
	}
	for key, n := range p.Networks {
		if !n.External {
			file["networks"][key] = over{Labels: mark}
		}
	}
	for key, v := range p.Volumes {
		if !v.External && v.Name == name+"_"+key { // a name of its own is the user's
			file["volumes"][key] = over{Labels: mark}
		}
	}
	return json.Marshal(file, json.Deterministic(true))
}
