package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/faults/suggest"
)

var durationType = reflect.TypeFor[time.Duration]()

// field is one key of a part of a plan.
type field struct {
	name     string
	index    int
	optional bool // the zero value means that it was not given
	tag      reflect.StructTag
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
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			fields = append(fields, field{name, i, strings.Contains(options, "omitempty"), f.Tag})
		}
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

// setText gives scalar v the value that text says. The error says what text is not.
func setText(v reflect.Value, text string) error {
	digits := strings.ReplaceAll(text, "_", "")
	switch {
	case v.Type() == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			if _, err := strconv.ParseFloat(text, 64); err == nil {
				return fmt.Errorf("has no unit")
			}
			return fmt.Errorf("not a duration")
		}
		v.SetInt(int64(d))
	case v.CanInt():
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return notInteger(digits)
		}
		v.SetInt(n)
	case v.CanUint():
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil {
			return notInteger(digits)
		}
		v.SetUint(n)
	case v.CanFloat():
		x, err := strconv.ParseFloat(digits, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("not a number")
		}
		v.SetFloat(x)
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("neither true nor false")
		}
		v.SetBool(text == "true")
	default:
		v.SetString(text)
	}
	return nil
}

func notInteger(digits string) error {
	if digits != "" && strings.Trim(digits, "0123456789") == "" || strings.HasPrefix(digits, "-") && strings.Trim(digits[1:], "0123456789") == "" {
		return fmt.Errorf("out of range")
	}
	return fmt.Errorf("not an integer")
}

// textOf writes scalar v as setText reads it.
func textOf(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return durationText(time.Duration(v.Int()))
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	default:
		return v.String()
	}
}

// durationText is d without the zero units of [time.Duration.String]: 20m, not 20m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// typeName says what a scalar of v's type holds, with its article.
func typeName(t reflect.Type, tag reflect.StructTag) string {
	switch {
	case t == durationType:
		return "duration"
	case tag.Get("oneof") != "":
		return "choice"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Uint64:
		return "integer"
	case reflect.Float64:
		return "number"
	default:
		return "text"
	}
}

// allowed says what a scalar may be, as far as its type and tags know; "" is anything.
func allowed(t reflect.Type, tag reflect.StructTag) string {
	switch {
	case tag.Get("oneof") != "":
		return strings.ReplaceAll(tag.Get("oneof"), ",", ", ")
	case tag.Get("min") != "":
		return tag.Get("min") + " to " + tag.Get("max")
	case tag.Get("like") != "":
		return "text such as " + tag.Get("like")
	case t.Kind() == reflect.Bool:
		return "true, false"
	case t.Kind() == reflect.Uint64:
		return "0 to 18446744073709551615"
	}
	return ""
}

// remedyFor says what value would be right.
func remedyFor(t reflect.Type, tag reflect.StructTag) string {
	a := allowed(t, tag)
	switch {
	case tag.Get("oneof") != "":
		return "one of " + a
	case t == durationType && a != "":
		return "give a duration such as 200ms, 10s or 20m, from " + a
	case a == "" && typeName(t, tag) == "integer":
		return "give an integer"
	case a == "":
		return "give a " + typeName(t, tag)
	case t.Kind() == reflect.Bool:
		return "give true or false"
	default:
		return "give " + a
	}
}

// checkRange says what is wrong with scalar v by its tags.
func checkRange(path string, v reflect.Value, tag reflect.StructTag) *PlanError {
	if names := tag.Get("oneof"); names != "" {
		known := strings.Split(names, ",")
		for _, name := range known {
			if v.String() == name {
				return nil
			}
		}
		return &PlanError{Path: path, Message: fmt.Sprintf("%s is %q", path, v.String()), Remedy: remedyFor(v.Type(), tag) + suggest.Hint(v.String(), known)}
	}
	lo, hi := tag.Get("min"), tag.Get("max")
	if lo == "" {
		return nil
	}
	low, high := reflect.New(v.Type()).Elem(), reflect.New(v.Type()).Elem()
	if err := errors.Join(setText(low, lo), setText(high, hi)); err != nil {
		panic(fmt.Sprintf("%s: bad min or max tag: %v", path, err))
	}
	out := v.CanInt() && (v.Int() < low.Int() || v.Int() > high.Int()) || v.CanFloat() && (v.Float() < low.Float() || v.Float() > high.Float())
	if out {
		return &PlanError{Path: path, Message: fmt.Sprintf("%s is %s, out of range", path, textOf(v)), Remedy: remedyFor(v.Type(), tag)}
	}
	return nil
}

// sortedKeys lists the keys of a mapping of numbers in their order.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.Int(), b.Int()) })
	return keys
}
