package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Marshal writes p as Parse reads it: name, preset, seed and version always, and of the rest what
// differs from the defaults and the preset. Parse gives back a plan equal to p if p is valid.
func Marshal(p *Plan) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	w := &planWriter{plan: p}
	base := reflect.ValueOf(p.base()).Elem()
	v := reflect.ValueOf(p).Elem()
	for _, f := range fieldsOf(v.Type()) {
		fv := v.Field(f.index)
		switch f.name {
		case "version", "name", "preset", "seed":
			fmt.Fprintf(w, "%s: %s\n", f.name, scalarText(fv))
		case "faults":
			w.faults(fv)
		default:
			w.section(f.name, fv, base.Field(f.index))
		}
	}
	return w.Bytes(), nil
}

type planWriter struct {
	bytes.Buffer
	plan *Plan
}

// section writes one of the plan's keys, and of a struct the keys that base has not.
func (w *planWriter) section(name string, v, base reflect.Value) {
	if v.Kind() != reflect.Struct {
		if !v.IsZero() {
			fmt.Fprintf(w, "%s: %s\n", name, flow(v))
		}
		return
	}
	begun := false
	for _, f := range fieldsOf(v.Type()) {
		fv := v.Field(f.index)
		text := flow(fv)
		if fv.Kind() == reflect.Struct {
			text = w.group(join(name, f.name), fv, base.Field(f.index))
		} else if w.omits(join(name, f.name), fv, base.Field(f.index)) {
			text = ""
		}
		if text == "" {
			continue
		}
		if !begun {
			fmt.Fprintf(w, "%s:\n", name)
			begun = true
		}
		fmt.Fprintf(w, "  %s: %s\n", f.name, text)
	}
}

// omits says whether a key need not be written.
func (w *planWriter) omits(path string, v, base reflect.Value) bool {
	same := reflect.DeepEqual(v.Interface(), base.Interface())
	return same && !slices.Contains(w.plan.pinned, path) || isEmpty(v)
}

// group writes on one line the keys of a group of settings that base has not; "" is none.
func (w *planWriter) group(path string, v, base reflect.Value) string {
	var parts []string
	for _, f := range fieldsOf(v.Type()) {
		if fv := v.Field(f.index); !w.omits(join(path, f.name), fv, base.Field(f.index)) {
			parts = append(parts, f.name+": "+flow(fv))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func isEmpty(v reflect.Value) bool {
	return (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

func (w *planWriter) faults(list reflect.Value) {
	if list.Len() == 0 {
		return
	}
	w.WriteString("faults:\n")
	for i := range list.Len() {
		lead := "  - "
		for _, f := range fieldsOf(list.Index(i).Type()) {
			if fv := list.Index(i).Field(f.index); !fv.IsZero() {
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
			parts = append(parts, textOf(key)+": "+flow(v.MapIndex(key)))
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
	text := textOf(v)
	if v.Kind() != reflect.String || plainWord.MatchString(text) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text)) || strings.Contains(text, " ") && plainStory.MatchString(text) {
		return text
	}
	var quoted bytes.Buffer
	enc := json.NewEncoder(&quoted) // JSON's escapes are YAML's
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSpace(quoted.String())
}
