package stranger

import (
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// Compare compares two sides of which one or both were rebuilt, and quotes what only the
// artifacts say: of identities, those of the baselines too, the keys that a run may make
// up, and all values.
func Compare(head, base []*compare.Run, o compare.Options) (*compare.Comparison, error) {
	for _, r := range slices.Concat(head, base) {
		r.Doc = withQuotedKeys(r.Doc)
	}
	for _, side := range []*[]*result.Document{&o.HeadFixed, &o.BaseFixed} {
		quoted := make([]*result.Document, len(*side))
		for i, d := range *side {
			quoted[i] = withQuotedKeys(d)
		}
		*side = quoted
	}
	c, err := compare.Compare(head, base, o)
	if err != nil {
		return nil, err
	}
	for _, list := range [][]compare.Mismatch{c.Refused, c.Allowed, c.Axis} {
		for i := range list {
			list[i].Base, list[i].Head = Quote(list[i].Base, quotedSentence), Quote(list[i].Head, quotedSentence)
		}
	}
	return c, nil
}

func withQuotedKeys(d *result.Document) *result.Document {
	quoted := *d
	quoted.Identity = quotedKeys(&d.Identity)
	return &quoted
}

// quotedKeys renames the keys of an identity that end in a name of the run's own, as
// engine_env.NAME. The others are the program's (ownWords).
func quotedKeys(id *result.Identity) result.Identity {
	values := map[string]string{}
	for _, p := range id.Pairs {
		kind, name, has := strings.Cut(p.Key, ".")
		if has {
			kind += ".“" + table.Plain(noQuotes.Replace(name), quotedSentence) + "”"
		}
		values[kind] = p.Value
	}
	renamed := result.NewIdentity(values)
	renamed.Digest = id.Digest
	return renamed
}

// Odd reports whether a key of an identity ends in a name of the run's own that is shown
// in quotes.
func Odd(key string) bool {
	_, name, has := strings.Cut(key, ".")
	return has && !bareName.MatchString(name)
}
