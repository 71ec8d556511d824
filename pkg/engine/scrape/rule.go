package scrape

import (
	"slices"
	"strings"
)

// shape is what kind of number a quantity is.
type shape uint8

const (
	counter      shape = iota
	observed           // a counter too: the sum of a histogram's observations
	observations       // and their number
	gauge              // a plain number, not negative
	share              // 0..1; above 1.5 it is taken for percent (spec/inferencex.md §4.1)
)

// counts reports whether a quantity of this shape only grows.
func (s shape) counts() bool { return s <= observations }

// histogram reports whether it stands in a histogram.
func (s shape) histogram() bool { return s == observed || s == observations }

// combine is how the figures of several logical engines become one.
type combine uint8

const (
	sum combine = iota
	mean
	highest
)

// rule says where one quantity stands on a page. Several rules of one name are
// tried in their order; the first that finds a series is taken, so that an
// engine which shows an old and a new spelling is not counted twice.
type rule struct {
	name   Name
	shape  shape
	over   combine
	family string // counters without _total; both spellings are looked for
	label  string // with values: only series in which this label has one of them
	values []string
	not    bool // with values: only series in which it has none of them
	each   bool // one quantity for each value of label: the rule's name with the value after it
}

// takes reports whether a series with these labels belongs to the rule.
func (r *rule) takes(labels []label) bool {
	if len(r.values) == 0 {
		return true
	}
	return slices.Contains(r.values, valueOf(labels, r.label)) != r.not
}

// engines are the tables, in the order in which a page is recognised. What an
// engine itself says goes before what stands around it: a Dynamo worker's page
// has the engine's families and Dynamo's, and InferenceX, which looks for Dynamo
// first, then misses what SGLang says there (spec/inferencex.md §4.1). A page
// with names of SGLang and vLLM is SGLang's.
var engines = []struct {
	kind   Kind
	prefix string
	rules  []rule
}{
	{SGLang, "sglang:", sglangRules},
	{VLLM, "vllm:", vllmRules},
	{ATOM, "atom:", atomRules},
	{TensorRTLLM, "trtllm_", tensorRTLLMRules},
	{DynamoFrontend, "dynamo_frontend_", dynamoFrontendRules},
	{DynamoWorker, "dynamo_component_", dynamoWorkerRules},
	{VLLMRouter, "vllm_router_", vllmRouterRules},
	{ModelGateway, "smg_", modelGatewayRules},
	{ModelGateway, "sgl_router_", modelGatewayRules},
}

// wanted holds the name of every line that a rule reads, and the name under
// which the rule knows it: SGLang's gateway shows its engines' families on a page
// of its own with an underscore for the colon.
var wanted = func() map[string]string {
	names := map[string]string{}
	want := func(name string) {
		names[name] = name
		names[strings.Replace(name, ":", "_", 1)] = name
	}
	want(cacheConfig)
	for _, e := range engines {
		for _, r := range e.rules {
			want(r.family)
			switch {
			case r.shape == counter:
				want(r.family + totalSuffix)
			case r.shape.histogram():
				want(r.family + "_sum")
				want(r.family + "_count")
			}
		}
	}
	want(tensorRTLLMBlocks)
	want(tensorRTLLMBlockSize)
	return names
}()

const totalSuffix = "_total"

// rulesOf finds the engine that a page speaks of.
func rulesOf(families Families) (Kind, []rule) {
	for _, e := range engines {
		for name := range families {
			if strings.HasPrefix(name, e.prefix) {
				return e.kind, e.rules
			}
		}
	}
	return Unknown, nil
}
