package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// Scalar is a scalar value in a struct, or an element of a list or mapping there.
type Scalar struct {
	Name  string // its path, such as engine.worker_ttl
	Value reflect.Value
	tag   reflect.StructTag
}

// place is where a scalar stands in any struct of a type.
type place struct {
	name  string
	index []int
	tag   reflect.StructTag
}

func isScalar(of interface{ Kind() reflect.Kind }) bool {
	return !slices.Contains([]reflect.Kind{reflect.Struct, reflect.Slice, reflect.Map, reflect.Pointer}, of.Kind())
}

var placesKnown sync.Map // reflect.Type to []place

// placesOf lists the scalars of struct type t and of the structs in it. The list is shared.
func placesOf(t reflect.Type) []place {
	if known, ok := placesKnown.Load(t); ok {
		return known.([]place)
	}
	var list []place
	for _, f := range fieldsOf(t) {
		ft := t.Field(f.index).Type
		if ft.Kind() == reflect.Struct {
			for _, p := range placesOf(ft) {
				list = append(list, place{Join(f.name, p.name), append([]int{f.index}, p.index...), p.tag})
			}
		} else if isScalar(ft) {
			list = append(list, place{f.name, []int{f.index}, f.tag})
		}
	}
	placesKnown.Store(t, list)
	return list
}

func (p place) in(v reflect.Value) Scalar { return Scalar{p.name, v.FieldByIndex(p.index), p.tag} }

// Scalars lists the scalars of the struct that of points to, and of the structs in it, in the order of their keys.
// Lists, mappings and pointers are left out.
func Scalars(of any) []Scalar {
	v := reflect.ValueOf(of).Elem()
	places := placesOf(v.Type())
	list := make([]Scalar, len(places))
	for i, p := range places {
		list[i] = p.in(v)
	}
	return list
}

// ScalarOf is the scalar of that name among [Scalars].
func ScalarOf(of any, name string) (s Scalar, ok bool) {
	v := reflect.ValueOf(of).Elem()
	places := placesOf(v.Type())
	i := slices.IndexFunc(places, func(p place) bool { return p.name == name })
	if i < 0 {
		return Scalar{}, false
	}
	return places[i].in(v), true
}

// Field is the value of that key in the struct that of points to. It panics if there is no such key.
func Field(of any, key string) reflect.Value {
	v := reflect.ValueOf(of).Elem()
	return v.Field(fieldCalled(v.Type(), key).index)
}

// Element is an element, with the zero value, of the list or mapping of that key in struct type t. It panics if there
// is no such key.
func Element(t reflect.Type, key string) Scalar {
	f := fieldCalled(t, key)
	return Scalar{key, reflect.New(t.Field(f.index).Type.Elem()).Elem(), f.element().tag}
}

func fieldCalled(t reflect.Type, key string) field {
	fields := fieldsOf(t)
	return fields[slices.IndexFunc(fields, func(f field) bool { return f.name == key })]
}

// Parse is the value that text gives the scalar, if it is in range. The scalar keeps the value that it has.
func (s Scalar) Parse(text string) (reflect.Value, error) {
	v := reflect.New(s.Value.Type()).Elem()
	if e := setScalar(s.Name, v, text, s.tag); e != nil {
		return v, e
	}
	return v, nil
}

// Text is the value as [Scalar.Parse] reads it.
func (s Scalar) Text() string { return TextOf(s.Value) }

// Type is duration, integer, number, boolean, choice or text.
func (s Scalar) Type() string { return typeName(s.Value.Type(), s.tag) }

// Allowed says which values it may have; "" is any of its type.
func (s Scalar) Allowed() string { return allowed(s.Value.Type(), s.tag) }

// Doc says what it is for.
func (s Scalar) Doc() string { return s.tag.Get("doc") }

// Check says which scalar of the struct that of points to is not what its tags allow; nil is none.
func Check(of any) *Error { return checkStruct("", reflect.ValueOf(of).Elem()) }

func checkStruct(path string, v reflect.Value) *Error {
	for _, f := range fieldsOf(v.Type()) {
		if e := checkValue(Join(path, f.name), v.Field(f.index), f); e != nil {
			return e
		}
	}
	return nil
}

func checkValue(path string, v reflect.Value, f field) *Error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return checkValue(path, v.Elem(), f)
	case reflect.Struct:
		return checkStruct(path, v)
	case reflect.Slice:
		for i := range v.Len() {
			if e := checkValue(fmt.Sprintf("%s[%d]", path, i), v.Index(i), f.element()); e != nil {
				return e
			}
		}
		return nil
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			if e := checkValue(Join(path, TextOf(key)), v.MapIndex(key), f.element()); e != nil {
				return e
			}
		}
		return nil
	default:
		if f.optional && v.IsZero() {
			return nil
		}
		return checkRange(path, v, f.tag)
	}
}
