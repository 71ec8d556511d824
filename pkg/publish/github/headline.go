package github

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// signs of the standings, in a colour that also differs in shape from text.
var signs = map[Standing]string{
	Failed: "🔴", Regressed: "🔴", Invalid: "🔴", Worse: "🟡", ManyFailed: "🟡", Changed: "🟡", NotEnough: "🟡", NotCompared: "⚪",
	NoChange: "🟢", Improved: "🟢",
}

// headline is what everybody reads: the verdict, and the figures that moved most.
func headline(w io.Writer, o *Options, c *Content, s Standing) error {
	title := "AgentX"
	if name := strings.Trim(o.Workflow+" / "+o.Cell, " /"); name != "" {
		title += " · " + name
	}
	fmt.Fprintf(w, "### %s %s: %s\n\n", signs[s], table.Inline(title, 2*nameWidth), table.Inline(strings.ToUpper(string(s)), nameWidth))
	if o.moved != "" {
		fmt.Fprintf(w, "**An older commit:** the pull request has moved on to %s\n\n", table.Inline(o.moved, nameWidth))
	}
	for _, line := range sentences(c, s) {
		fmt.Fprintf(w, "%s\n\n", line)
	}
	fmt.Fprintf(w, "%s%s", failures(c), counts(c.Head))
	switch {
	case !alone(c):
		list, moved := top(c.Comparison)
		name := "Moved most"
		switch {
		case !moved && c.Comparison.Verdict == compare.NotEnough:
			name = "Too little to judge"
		case !moved:
			name = "Nothing moved"
		}
		if err := table.Figures(w, name, list, md); err != nil || len(list) == 0 {
			return err
		}
		_, err := fmt.Fprintf(w, "_%s_\n", legend(list))
		return err
	case c.Head != nil && s != Failed:
		return table.Headline(w, c.Head, md)
	}
	return nil
}

// legend explains the signs in a table of figures, those that are there.
func legend(list []compare.Finding) string {
	text := `\*: the verdict rests on these.`
	if slices.ContainsFunc(list, func(f compare.Finding) bool { return f.Low != nil && f.High != nil }) {
		text += " In brackets: where the change lies, by the spread of what was measured."
	}
	if slices.ContainsFunc(list, func(f compare.Finding) bool { return f.SmallestDetectable != nil }) {
		text += " Seen from: the least change that would have shown."
	}
	return text
}

// alone tells whether a head has nothing to be held against.
func alone(c *Content) bool {
	return c.Comparison == nil || c.Comparison.Verdict == compare.Refused || len(c.Comparison.Gated) == 0
}

// sentences say in words what the standing is about.
func sentences(c *Content, s Standing) []string {
	var list []string
	say := func(label, text string) {
		if text != "" {
			list = append(list, "**"+label+"** "+table.Inline(text, sentenceWidth))
		}
	}
	if s == Failed {
		say("No result:", c.Failed)
		if c.Head != nil {
			say("The run failed:", c.Head.Outcome.Error)
			if r := c.Head.Requests.Profiling; r.OK == 0 {
				say("Nothing was measured:", fmt.Sprintf("none of %d requests succeeded", r.OK+r.Errors+r.Overflow+r.Censored))
			}
			if len(c.Head.Errors) > 0 {
				say("Most frequent error:", c.Head.Errors[0].Message)
			}
		}
	}
	if c.Comparison != nil {
		say("Head against base:", c.Comparison.Summary)
	} else if s != Failed || c.NotCompared != "" {
		say("Not compared:", cmp.Or(c.NotCompared, "there is no result of the base"))
	}
	if c.Claimed && c.Head != nil {
		say("Whose word it is:", claimed)
	}
	return list
}

// failures says how many requests failed: the figures of a head alone know nothing of
// them.
func failures(c *Content) string {
	if c.Head == nil {
		return ""
	}
	r := c.Head.Requests.Profiling
	rate, ok := r.ErrorRate()
	if !ok || rate == 0 || r.OK == 0 { // none succeeded: that is said as such
		return ""
	}
	text := fmt.Sprintf("**%d of %d requests failed (%s)**", r.Errors, r.OK+r.Errors, table.Percent(rate))
	if alone(c) {
		text += "; the figures are of those that succeeded"
	}
	return text + "\n\n"
}

// claimed says how far a result of others can be believed.
const claimed = "every figure, finding and verdict was computed here from the records in the artifacts; the records themselves, and what the run says of its engine and settings, are those of a job whose code the pull request could change."

// counts says whether the run counts at all.
func counts(d *result.Document) string {
	if d == nil {
		return ""
	}
	v := &d.Validity
	var parts []string
	switch {
	case v.SubmissionValid == nil:
		parts = append(parts, "**Submission:** not judged, no rule set was asked for")
	case *v.SubmissionValid:
		parts = append(parts, "**Submission:** valid under "+table.Inline(d.Scenario.Name, nameWidth))
	default:
		parts = append(parts, "**Submission:** NOT VALID ("+table.Inline(strings.Join(v.SubmissionInvalidReasons, ", "), 2*nameWidth)+")")
	}
	if v.Trusted {
		parts = append(parts, "**trusted:** yes")
	} else {
		parts = append(parts, "**trusted:** NO, see the findings")
	}
	return strings.Join(parts, " · ") + "\n\n"
}

// hexadecimal is what a commit or a digest is made of.
var hexadecimal = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// provenance is the line that says where the result comes from.
func provenance(w io.Writer, o *Options, c *Content) error {
	p, d := &c.Provenance, c.Head
	var parts []string
	add := func(label, value string) {
		if value != "" {
			parts = append(parts, label+" "+table.Inline(value, 2*nameWidth))
		}
	}
	// In code nothing is looked for, and it can be copied as it stands.
	verbatim := func(label, value string) {
		switch value = table.Plain(value, 2*nameWidth); {
		case strings.Contains(value, "`"):
			add(label, value)
		case value != "":
			parts = append(parts, label+" `"+value+"`")
		}
	}
	add("commit", cmp.Or(p.SHA, o.Event.HeadSHA))
	if p.BaseClaimed {
		add("base, as the artifacts say,", p.BaseSHA)
	} else {
		add("base", p.BaseSHA)
	}
	image := p.Image
	if d != nil {
		image = cmp.Or(image, d.Engine.Image)
		if image == "" {
			add("engine", strings.TrimSpace(d.Engine.Name+" "+d.Engine.Version))
		}
	}
	verbatim("image", image)
	add("runner", p.Runner)
	if d != nil {
		facts(d, add)
	}
	for _, link := range []struct{ name, at string }{{"run", p.RunURL}, {"artifacts", p.ResultURL}} {
		switch at := address(link.at); {
		case at != "":
			parts = append(parts, "["+link.name+"]("+at+")")
		case link.at != "": // s3://…
			verbatim(link.name, link.at)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "<sub>%s</sub>", strings.Join(parts, " · "))
	return err
}

// facts are what the document itself says of its origin.
func facts(d *result.Document, add func(label, value string)) {
	if g := d.GPUs; g != nil && g.Count > 0 {
		add("GPU", fmt.Sprintf("%d × %s", g.Count, g.Model))
	} else {
		add("GPU", "none")
	}
	if d.Corpus != nil {
		digest := d.Corpus.Digest
		if hexadecimal.MatchString(digest) && len(digest) > 12 {
			digest = digest[:12]
		}
		add("corpus", strings.TrimSpace(d.Corpus.Name+" "+digest))
	}
	if d.Scenario.Name != "" {
		add("rule set", strings.TrimSpace(d.Scenario.Name+" "+d.Scenario.Version))
	} else {
		add("rule set", "none")
	}
	if d.Settings.Seed != nil {
		add("seed", fmt.Sprint(*d.Settings.Seed))
	}
	add("agentx", d.Program.Version)
}

// maxAddress bounds a link, in bytes.
const maxAddress = 1000

// addressEscapes take their meaning from characters that Markdown would see in a link.
var addressEscapes = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", " ", "%20", `\`, "%5C", "|", "%7C",
	`"`, "%22", "'", "%27", "`", "%60", "*", "%2A", "_", "%5F", "[", "%5B", "]", "%5D", "@", "%40")

// address is a web address that can stand in a Markdown link, or "" when it isn't one.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(text) > maxAddress {
		return ""
	}
	out := addressEscapes.Replace(u.String())
	for _, r := range out {
		if r <= ' ' || r >= 0x7f {
			return ""
		}
	}
	return out
}

// reproduce is the command line, in a block of code.
func reproduce(c *Content) func(io.Writer) error {
	return func(w io.Writer) error {
		command := c.Provenance.Reproduce
		if len(command) == 0 && c.Head != nil {
			command = c.Head.Command
		}
		if len(command) == 0 {
			return nil
		}
		line := make([]string, len(command))
		for i, arg := range command {
			line[i] = quoted(table.Plain(arg, sentenceWidth))
		}
		text := table.Plain(strings.Join(line, " "), 4000)
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		_, err := fmt.Fprintf(w, "%ssh\n%s\n%s", fence, text, fence)
		return err
	}
}

var bare = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted is an argument as a shell takes it.
func quoted(arg string) string {
	if bare.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
