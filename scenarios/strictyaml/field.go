package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// field is one key of a struct.
type field struct {
	name     string
	index    int
	optional bool // the zero value means that it was not given
	required bool
	nonempty bool
	instant  bool
	tag      reflect.StructTag
	elements reflect.StructTag
}

// fieldsKnown remembers what fieldsOf found: to read the tags is most of the work of setting a value.
var fieldsKnown sync.Map // reflect.Type to []field

// fieldsOf lists the keys of struct type t in their order. The list is shared.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldsKnown.Load(t); ok {
		return known.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		name, rest, _ := strings.Cut(tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		options := strings.Split(rest, ",")
		has := func(option string) bool { return slices.Contains(options, option) }
		fields = append(fields, field{name, i, has("omitempty"), has("required"), has("nonempty"), has("instant"), tag, elementTag(tag)})
	}
	fieldsKnown.Store(t, fields)
	return fields
}

func fieldNames(fields []field) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

// element is what the field says of an element of its list or mapping.
func (f field) element() field { return field{nonempty: f.nonempty, tag: f.elements} }

// elementTag is the part of a list's or a mapping's tag that speaks of its elements: all but the key.
func elementTag(tag reflect.StructTag) reflect.StructTag {
	var kept []string
	for _, key := range []string{"min", "max", "oneof", "like", "doc"} {
		if word := tag.Get(key); word != "" {
			kept = append(kept, fmt.Sprintf("%s:%q", key, word))
		}
	}
	return reflect.StructTag(strings.Join(kept, " "))
}
