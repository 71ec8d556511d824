package result

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// Pair is one key of an identity and its value.
type Pair struct {
	// Name of the setting.
	Key string `json:"key" jsonschema:"minLength=1"`
	// Its value as text.
	Value string `json:"value"`
}

// Identity is what makes two results comparable: they may differ only in the
// key under test (DESIGN.md §3, decisions.md 29).
type Identity struct {
	// Sorted by key, each key once.
	Pairs []Pair `json:"pairs"`
	// SHA-256 over the pairs, hexadecimal.
	Digest string `json:"digest" jsonschema:"pattern=^[0-9a-f]{64}$"`
}

// NewIdentity sorts and digests key/value pairs.
func NewIdentity(values map[string]string) Identity {
	id := Identity{Pairs: make([]Pair, 0, len(values))}
	for k, v := range values {
		id.Pairs = append(id.Pairs, Pair{k, v})
	}
	slices.SortFunc(id.Pairs, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	id.Digest = id.digest()
	return id
}

// digest hashes [["key","value"],…] as JSON without white space, so that no
// value can look like two.
func (id *Identity) digest() string {
	list := make([][2]string, len(id.Pairs))
	for i, p := range id.Pairs {
		list[i] = [2]string{strings.ToValidUTF8(p.Key, "\uFFFD"), strings.ToValidUTF8(p.Value, "\uFFFD")}
	}
	text, err := json.Marshal(list)
	if err != nil { // strings of valid UTF-8 always encode
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Get is the value of a key.
func (id *Identity) Get(key string) (string, bool) {
	i := sort.Search(len(id.Pairs), func(i int) bool { return id.Pairs[i].Key >= key })
	if i == len(id.Pairs) || id.Pairs[i].Key != key {
		return "", false
	}
	return id.Pairs[i].Value, true
}

// Diff lists the keys on which two identities differ, sorted; a key that only
// one of them has counts.
func (id *Identity) Diff(other *Identity) []string {
	var out []string
	for _, p := range id.Pairs {
		if v, ok := other.Get(p.Key); !ok || v != p.Value {
			out = append(out, p.Key)
		}
	}
	for _, p := range other.Pairs {
		if _, ok := id.Get(p.Key); !ok {
			out = append(out, p.Key)
		}
	}
	slices.Sort(out)
	return out
}

// Identity derives the identity from the facts. What is unknown has no key, so
// that it differs from anything known.
func (f *Facts) Identity() Identity {
	v := map[string]string{}
	for k, x := range f.ExtraIdentity {
		v[k] = x
	}
	put := func(key, value string) {
		if value != "" {
			v[key] = value
		}
	}
	s := &f.Settings
	put("measurement_version", strconv.Itoa(f.MeasurementVersion))
	put("mode", string(f.Mode))
	put("scenario", f.Scenario.Name)
	put("scenario_version", f.Scenario.Version)
	for _, o := range f.Scenario.Overridden {
		put("overridden."+o.Setting, "got "+o.Got+", rule "+o.Want)
	}
	put("concurrency", number(s.Concurrency > 0, s.Concurrency))
	put("duration_s", float(s.DurationS))
	put("seed", integer(s.Seed))
	put("start_min_ratio", float(s.StartMinRatio))
	put("start_max_ratio", float(s.StartMaxRatio))
	put("system_idle_cap_s", float(s.SystemIdleCapS))
	put("tree_idle_cap_s", float(s.TreeIdleCapS))
	put("warmup_requests_per_lane", integer(s.WarmupRequestsPerLane))
	put("warmup_duration_s", float(s.WarmupDurationS))
	put("sampling", s.Sampling)
	put("lane_plan", s.LanePlan)
	put("history", s.History)
	put("isl_mode", s.ISLMode)
	put("message_shape", s.MessageShape)
	put("marker", s.Marker)
	put("counting", string(s.Counting))
	put("model", s.Model)
	put("fixed_isl", integer(s.FixedISL))
	put("fixed_osl", integer(s.FixedOSL))
	put("fixed_range_ratio", float(s.FixedRangeRatio))
	put("fixed_prompts", integer(s.FixedPrompts))
	put("fixed_warmups", integer(s.FixedWarmups))
	put("fixed_endpoint", s.FixedEndpoint)
	for k, x := range s.ExtraInputs {
		v["extra_inputs."+k] = x
	}
	if c := f.Corpus; c != nil {
		put("corpus", c.Digest)
		for k, x := range c.Filters {
			v["corpus_filter."+k] = x
		}
	}
	f.engineIdentity(put)
	return NewIdentity(v)
}

// FromEngine reports whether the value of a key comes from the engine or its
// machine: before a run it may not be known yet, while all others are settled.
func FromEngine(key string) bool {
	switch key {
	case "model", "engine", "engine_version", "engine_image", "engine_args", "engine_model", "replicas", "prefix_caching", "gpu_model", "gpu_count", "gpu_driver":
		return true
	}
	return false
}

func (f *Facts) engineIdentity(put func(key, value string)) {
	e := &f.Engine
	put("engine", e.Name)
	put("engine_version", e.Version)
	put("engine_image", e.Image)
	if len(e.Args) > 0 {
		args, err := json.Marshal(e.Args)
		if err == nil {
			put("engine_args", string(args))
		}
	}
	for name, x := range e.Env {
		put("engine_env."+name, x)
	}
	put("engine_model", e.Model)
	put("session_routing", e.SessionRouting)
	put("replicas", integer(e.Replicas))
	if e.PrefixCaching != nil {
		put("prefix_caching", strconv.FormatBool(*e.PrefixCaching))
	}
	if g := f.GPUs; g != nil {
		put("gpu_model", g.Model)
		put("gpu_count", strconv.Itoa(g.Count))
		put("gpu_driver", g.Driver)
	}
}

func float(p *float64) string {
	if p == nil {
		return ""
	}
	return strconv.FormatFloat(*p, 'g', -1, 64)
}

func integer[T int | int64](p *T) string {
	if p == nil {
		return ""
	}
	return strconv.FormatInt(int64(*p), 10)
}

func number(known bool, n int) string {
	if !known {
		return ""
	}
	return strconv.Itoa(n)
}
