package strictyaml

import (
	"reflect"
	"strings"
)

// Section is a part of a document that has keys of its own, or the document itself.
type Section struct {
	Name string // its path, such as kernel.rules
	List bool   // each entry of it has the keys
	Doc  string
	Keys []Key
}

// Key is one of a section's.
type Key struct {
	Name    string
	Doc     string
	Allowed string // what it may be; empty is anything
	Section string // that is its value, or an entry of it; empty if it is none
}

// Sections lists the sections of struct type t, in the order of their keys. The first is whole, which has the keys at
// the root. Of two sections that are alike the first is listed, and both lead to it; of neighbours of one
// type each is listed.
func Sections(t reflect.Type, whole Section) []Section {
	var list []Section
	type place struct {
		name, in string
		t        reflect.Type
	}
	named := map[reflect.Type]place{} // the first section of each type
	var walk func(path string, t reflect.Type, s Section)
	walk = func(path string, t reflect.Type, s Section) {
		at := len(list)
		list = append(list, s)
		var keys []Key
		for _, f := range fieldsOf(t) {
			ft, k := t.Field(f.index).Type, Key{Name: f.name, Doc: f.tag.Get("doc")}
			part := elementOf(ft)
			if part.Kind() == reflect.Struct {
				first, known := named[part]
				if !known || first.in == path && first.t == ft {
					name := Join(path, f.name)
					if !known {
						named[part] = place{name, path, ft}
					}
					first.name = name
					walk(name, part, Section{Name: name, List: ft.Kind() == reflect.Slice, Doc: k.Doc})
				}
				k.Section = first.name
			} else {
				k.Allowed = allowedOf(ft, part, f.tag)
			}
			keys = append(keys, k)
		}
		list[at].Keys = keys
	}
	walk("", t, whole)
	return list
}

// elementOf is what a pointer, a list or a mapping of numbers holds, or else t.
func elementOf(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return t.Elem()
	}
	return t
}

func allowedOf(t, element reflect.Type, tag reflect.StructTag) string {
	is := allowed(element, tag)
	switch t.Kind() {
	case reflect.Map:
		return strings.TrimSuffix("for each N: "+is, ": ")
	case reflect.Slice:
		return strings.TrimSuffix("a list: "+is, ": ")
	}
	return is
}
