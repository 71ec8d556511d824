package github

import (
	"fmt"
	"reflect"
	"strings"
)

// shortestToken is the length from which a token is looked for in other text.
const shortestToken = 4

// hide takes the secrets out of a text as it came: once Markdown has put its
// backslashes into one, neither we nor GitHub would know it again.
func (o *Options) hide(text string) string {
	if len(o.Token) >= shortestToken {
		text = strings.ReplaceAll(text, o.Token, "***")
	}
	if o.Mask != nil {
		text = o.Mask(text)
	}
	return text
}

// withoutSecrets is the door to summary, annotations, comment and check run: what comes
// from the outside goes through it before it is cut or escaped. What GitHub answers
// comes later, and goes through Outcome.refuse and logf.
func withoutSecrets(o Options, c Content) (Options, Content) {
	o.Workflow, o.Cell, o.CheckRun = o.hide(o.Workflow), o.hide(o.Cell), o.hide(o.CheckRun)
	return o, hidden(reflect.ValueOf(c), o.hide).Interface().(Content)
}

// hidden is a copy of a value whose texts went through hide. Words of ours, which have
// types of their own, and the names of figures stay: verdicts are read from them.
func hidden(v reflect.Value, hide func(string) string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			return reflect.ValueOf(hide(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out := reflect.New(v.Type().Elem())
			out.Elem().Set(hidden(v.Elem(), hide))
			return out
		}
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(hidden(v.Field(i), hide))
			}
		}
		return out
	case reflect.Slice:
		if !v.IsNil() {
			out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			for i := range v.Len() {
				out.Index(i).Set(hidden(v.Index(i), hide))
			}
			return out
		}
	case reflect.Map:
		if !v.IsNil() {
			return hiddenMap(v, hide)
		}
	}
	return v
}

func hiddenMap(v reflect.Value, hide func(string) string) reflect.Value {
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	ours := v.Type().Elem().Kind() == reflect.Struct // figures by their names
	for it := v.MapRange(); it.Next(); {
		key := it.Key()
		if !ours {
			key = hidden(key, hide)
		}
		out.SetMapIndex(key, hidden(it.Value(), hide))
	}
	return out
}

// logf writes to the log, as the API's answers do in part.
func (o *Options) logf(format string, args ...any) {
	if o.Actions != nil {
		o.Actions.Infof("%s", o.hide(fmt.Sprintf(format, args...)))
	}
}
