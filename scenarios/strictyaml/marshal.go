package strictyaml

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Marshal writes the struct that of points to as [Kind.Read] reads it: its scalars without omitempty always, and of
// the rest what differs from the struct that base points to, and the keys of the paths that given has.
func Marshal(of, base any, given []string) []byte {
	w := &writer{given: given}
	v, b := reflect.ValueOf(of).Elem(), reflect.ValueOf(base).Elem()
	for _, f := range fieldsOf(v.Type()) {
		fv := v.Field(f.index)
		switch {
		case fv.Kind() == reflect.Struct:
			if keys := w.differing(f.name, fv, b.Field(f.index)); len(keys) > 0 {
				fmt.Fprintf(w, "%s:\n  %s\n", f.name, strings.Join(keys, "\n  "))
			}
		case fv.Kind() == reflect.Slice && fv.Type().Elem().Kind() == reflect.Struct:
			w.list(f.name, fv)
		case !fv.IsZero() || !f.optional && isScalar(fv):
			fmt.Fprintf(w, "%s: %s\n", f.name, flow(fv))
		}
	}
	return w.Bytes()
}

type writer struct {
	bytes.Buffer
	given []string
}

// differing lists the keys of a struct that base has not, each with its value.
func (w *writer) differing(path string, v, base reflect.Value) (list []string) {
	for _, f := range fieldsOf(v.Type()) {
		fv, bv, at := v.Field(f.index), base.Field(f.index), Join(path, f.name)
		if fv.Kind() == reflect.Struct {
			if inner := w.differing(at, fv, bv); len(inner) > 0 {
				list = append(list, f.name+": {"+strings.Join(inner, ", ")+"}")
			}
			continue
		}
		same := reflect.DeepEqual(fv.Interface(), bv.Interface()) && !slices.Contains(w.given, at)
		if !same && !isEmpty(fv) {
			list = append(list, f.name+": "+flow(fv))
		}
	}
	return list
}

func isEmpty(v reflect.Value) bool {
	return (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

// list writes a list of structs, each key on a line.
func (w *writer) list(name string, v reflect.Value) {
	if v.Len() == 0 {
		return
	}
	w.WriteString(name + ":\n")
	for i := range v.Len() {
		lead := "  - "
		for _, f := range fieldsOf(v.Index(i).Type()) {
			if fv := v.Index(i).Field(f.index); !fv.IsZero() {
				fmt.Fprintf(w, "%s%s: %s\n", lead, f.name, flow(fv))
				lead = "    "
			}
		}
	}
}

// flow writes v on one line.
func flow(v reflect.Value) string {
	var parts []string
	switch v.Kind() {
	case reflect.Pointer:
		return flow(v.Elem())
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			if fv := v.Field(f.index); !fv.IsZero() {
				parts = append(parts, f.name+": "+flow(fv))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			parts = append(parts, scalarText(key)+": "+flow(v.MapIndex(key)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, flow(v.Index(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return scalarText(v)
	}
}

var (
	plainWord  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	plainStory = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 ,.;()/_-]*$`)
)

// scalarText quotes text that YAML could take for something else.
func scalarText(v reflect.Value) string {
	text := TextOf(v)
	isWord := plainWord.MatchString(text) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text))
	if v.Kind() != reflect.String || isWord || durationShape.MatchString(text) || strings.Contains(text, " ") && plainStory.MatchString(text) {
		return text
	}
	return quoted(text)
}
