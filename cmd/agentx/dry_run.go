package main

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/org/agentx-action/pkg/config"
	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/preset"
	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/run"
	"github.com/org/agentx-action/pkg/workload/corpus"
)

// dryRun prints the configuration that a run would have, as a configuration file,
// and what it would start, as its comments. It judges the settings as the run
// would, so that what passes here is not refused there.
func (r *runCmd) dryRun(w io.Writer, ctx *kong.Context, o run.Options, plan enginePlan, both [2]side) error {
	filled, err := settle(&o)
	if err != nil {
		return &run.UsageError{Err: err}
	}
	entries := r.effective(ctx, o, plan, filled)
	if err := config.Write(w, entries); err != nil {
		return err
	}
	fmt.Fprint(w, r.explain(plan))
	if r.alternates() {
		fmt.Fprintf(w, "# It is played in turn with the base, in the order head, base, base, head, %d times: %s\n# %s\n", r.Rounds, both[1].where, atLeast(&o, 4*r.Rounds))
	}
	return nil
}

// record is what --dry-run prints, to be kept with the result; nil where a setting
// cannot be, which the run itself will say.
func (r *runCmd) record(ctx *kong.Context, o run.Options, plan enginePlan, both [2]side) []byte {
	var b bytes.Buffer
	if err := r.dryRun(&b, ctx, o, plan, both); err != nil {
		return nil
	}
	return b.Bytes()
}

// settle applies the rule set, to every concurrency by itself.
func settle(o *run.Options) (map[string]scenario.Filled, error) {
	rules, err := scenario.Lookup(o.Scenario)
	if err != nil {
		return nil, err
	}
	filled := map[string]scenario.Filled{}
	lanes := o.Settings.Concurrency
	if len(lanes) == 0 {
		lanes = []int{0}
	}
	for _, n := range lanes {
		s := o.Settings
		s.Dataset = o.Source.Dataset()
		s.Concurrency = nil
		if n != 0 {
			s.Concurrency = []int{n}
		}
		outcome, err := rules.Apply(&s, o.UnsafeOverride)
		if err != nil {
			return nil, err
		}
		for _, f := range outcome.Filled {
			filled[strings.TrimPrefix(f.Setting, "--")] = f
		}
	}
	if o.Scenario == "" && o.Settings.RandomSeed == nil {
		delete(filled, "random-seed") // another in every run
	}
	return filled, nil
}

// atLeast says how long the parts of a job measure. What it takes to load a model is not
// known beforehand.
func atLeast(o *run.Options, parts int) string {
	seconds := 0.0
	if filled, err := settle(o); err == nil {
		seconds, _ = strconv.ParseFloat(filled["benchmark-duration"].Value, 64)
	}
	if o.Settings.BenchmarkDurationS != nil {
		seconds = *o.Settings.BenchmarkDurationS
	}
	part := time.Duration(seconds * float64(time.Second))
	return fmt.Sprintf("%d parts of %v: %v of measuring, besides their engines, warm-ups and a baseline a side", parts, part, time.Duration(parts)*part)
}

// fromHere makes paths full: a configuration file's own count from where it lies.
func fromHere(paths []string) []string {
	out := slices.Clone(paths)
	for i, p := range out {
		if full, err := filepath.Abs(p); err == nil && p != "" {
			out[i] = full
		}
	}
	return out
}

// effective is every key that has a value, with where it comes from: the command
// line, the Action's inputs, the file, the rule set, the other settings, or the default.
func (r *runCmd) effective(ctx *kong.Context, o run.Options, plan enginePlan, filled map[string]scenario.Filled) (out []config.Entry) {
	typed := map[string]bool{}
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			typed[p.Flag.Name] = true
		}
	}
	derived := r.derived(plan, o)
	for _, k := range r.keys {
		e := config.Entry{Key: k}
		v, inFile := r.file.Lookup(k.Name)
		_, ruled := filled[k.Name]
		switch follows := derived[k.Name]; {
		case typed[k.Name]:
			e.Text, e.Source = textOf(ctx, k), "flag"
		case r.inputs[k.Name]:
			e.Text, e.Source = textOf(ctx, k), "input"
		case inFile:
			e.Text, e.Source = v.Text, fmt.Sprintf("%s:%d", r.file.Name, v.Line)
			if v.Substituted() {
				e.Text, e.Raw = v.Raw, true
			}
		case follows != nil:
			e.Text, e.Source = follows, "follows from the other settings"
			if o.Demo && !slices.Contains([]string{"driver", "engine", "max-num-seqs"}, k.Name) {
				e.Source = "the demonstration's"
			}
		case ruled:
			e.Text, e.Source = []string{filled[k.Name].Value}, "rule set "+o.Scenario
			if o.Scenario == "" {
				e.Source = "default"
			}
		case k.Default != "" && hasEffect(k.Group, plan.Driver):
			e.Text, e.Source = strings.Split(k.Default, ","), "default"
			if k.Kind != config.List {
				e.Text = []string{k.Default}
			}
		default:
			continue
		}
		if (typed[k.Name] || r.inputs[k.Name]) && k.Path && k.Name != "mount" {
			e.Text = fromHere(e.Text)
		}
		if k.Kind == config.Number {
			e.Text = []string{strings.Replace(e.Text[0], "+Inf", "inf", 1)}
		}
		hide(&e)
		out = append(out, e)
	}
	return out
}

// hasEffect reports whether a driver has a use for the settings of a group: one that
// nobody gave is not worth a line otherwise.
func hasEffect(group, driver string) bool {
	started := driver == driverProcess || driver == driverDocker
	switch group {
	case "Engine container":
		return driver == driverDocker
	case "Engine settings":
		return started
	case "Engine":
		return started || driver == driverCompose
	}
	return true
}

// derived are values that nobody gave and that are settled all the same.
func (r *runCmd) derived(plan enginePlan, o run.Options) map[string][]string {
	out := map[string][]string{"driver": {plan.Driver}}
	if plan.Engine != "" && plan.Engine != r.Engine {
		out["engine"] = []string{plan.Engine}
	}
	if plan.Engine == preset.VLLM || plan.Engine == preset.SGLang {
		out["max-num-seqs"] = []string{strconv.Itoa(r.presetSettings(planInput{Lanes: r.lanes(o.Settings)}).MaxNumSeqs)}
	}
	if !o.Demo {
		return out
	}
	s := o.Settings
	for key, value := range map[string]any{
		"benchmark-duration": s.BenchmarkDurationS, "benchmark-grace-period": s.BenchmarkGracePeriodS, "trace-idle-gap-cap-seconds": s.TraceIdleGapCapS,
		"random-seed": s.RandomSeed, "warmup-requests-per-lane": s.WarmupRequestsPerLane,
	} {
		out[key] = []string{fmt.Sprint(reflect.ValueOf(value).Elem().Interface())}
	}
	for _, n := range s.Concurrency {
		out["concurrency"] = append(out["concurrency"], strconv.Itoa(n))
	}
	return out
}

// textOf is the value of a flag as a file would hold it.
func textOf(ctx *kong.Context, k config.Key) (out []string) {
	for _, f := range ctx.Selected().Flags {
		if f.Name != k.Name {
			continue
		}
		v := f.Target
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		switch {
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				out = append(out, fmt.Sprint(v.Index(i).Interface()))
			}
		case v.Kind() == reflect.Map:
			m, _ := v.Interface().(map[string]string)
			for _, name := range sortedKeys(m) {
				out = append(out, name+"="+m[name])
			}
		case k.Kind == config.List:
			out = strings.Split(fmt.Sprint(v.Interface()), ",")
		default:
			out = []string{fmt.Sprint(v.Interface())}
		}
	}
	return out
}

// onlyVariable is a secret, a header perhaps, of which nothing but the name of a
// variable is written down.
var onlyVariable = regexp.MustCompile(`^([A-Za-z0-9-]+: *(Bearer +)?)?\$\{[A-Za-z0-9_]+\}$`)

// hide marks what must not be shown. A variable that stands for a value shows none.
func hide(e *config.Entry) {
	if e.Raw && e.Key.Secret {
		e.Key.Secret = slices.ContainsFunc(e.Text, func(text string) bool { return !onlyVariable.MatchString(text) })
	}
	e.Hidden = make([]bool, len(e.Text))
	masked := deploy.MaskFlags(e.Text)
	for i, text := range e.Text {
		name, _, _ := strings.Cut(text, "=")
		u, err := url.Parse(text)
		switch {
		case e.Raw && strings.Contains(text, "${"):
		case e.Key.Kind == config.Map && deploy.SecretName(name),
			(e.Key.Name == "args" || e.Key.Name == "engine-command") && masked[i] != text,
			err == nil && u.User != nil:
			e.Hidden[i] = true
		}
	}
}

// explain says what would be started, in comments.
func (r *runCmd) explain(plan enginePlan) string {
	var b strings.Builder
	say := func(format string, a ...any) { fmt.Fprintf(&b, "# "+format+"\n", a...) }
	b.WriteByte('\n')
	switch plan.Driver {
	case driverURL:
		address := r.URL[0]
		if u, err := url.Parse(address); err == nil {
			address = u.Redacted()
		}
		say("The engine is at %s; nothing is started.", address)
	case driverSim:
		say("The embedded engine runs in this program.")
	default:
		say("The engine is started by:")
		line := strings.NewReplacer("\n", "\n#   ", "\r", "").Replace(plan.commandLine())
		say("  %s", line)
		if strings.Contains(line, portPlaceholder) {
			say("with a free port for %s.", portPlaceholder)
		}
		if plan.Driver == driverCompose {
			say("Load goes to %s:%d.", plan.Compose.Service.Service, plan.Compose.Service.Port)
		}
	}
	return b.String()
}

// explainCorpus says, in a comment, what would be fetched before the run: that depends
// on this machine, so that it is no part of the configuration that a result keeps.
func explainCorpus(w io.Writer, s run.Source) {
	if s.Public == "" {
		return
	}
	set, err := corpus.Public(s.Public)
	if err != nil {
		return // the run says so
	}
	switch missing, err := set.Missing(); {
	case err != nil:
		fmt.Fprintf(w, "# The run would fail: %v\n", err)
	case missing != "":
		fmt.Fprintf(w, "# %s\n", missing)
	}
}
