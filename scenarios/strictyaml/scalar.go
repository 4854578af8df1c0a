package strictyaml

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults/suggest"
)

var durationType = reflect.TypeFor[time.Duration]()

// durationShape is what a duration looks like, however long: [time.ParseDuration] does not tell one that is too long
// from one that is none.
var durationShape = regexp.MustCompile(`^[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`)

// setScalar gives v, which is called name, what text says, if that is in range.
func setScalar(name string, v reflect.Value, text string, tag reflect.StructTag) *Error {
	if err := setText(v, text); err != nil {
		return &Error{Path: name, Message: fmt.Sprintf("%s is %.40q, %v", name, text, err), Remedy: remedyFor(v.Type(), tag)}
	}
	return checkRange(name, v, tag)
}

// setText gives scalar v the value that text says. The error says what text is not.
func setText(v reflect.Value, text string) error {
	digits := strings.ReplaceAll(text, "_", "")
	if own, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return own.UnmarshalText([]byte(text))
	}
	switch {
	case v.Type() == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			_, unitless := strconv.ParseFloat(text, 64)
			switch {
			case unitless == nil:
				return errors.New("without a unit")
			case durationShape.MatchString(text):
				return errors.New("out of range")
			}
			return errors.New("not a duration")
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
			return errors.New("not a number")
		}
		v.SetFloat(x)
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return errors.New("neither true nor false")
		}
		v.SetBool(text == "true")
	default:
		v.SetString(text)
	}
	return nil
}

func notInteger(digits string) error {
	if digits != "" && strings.Trim(digits, "0123456789") == "" || strings.HasPrefix(digits, "-") && strings.Trim(digits[1:], "0123456789") == "" {
		return errors.New("out of range")
	}
	return errors.New("not an integer")
}

// TextOf is scalar v as it is written in a file.
func TextOf(v reflect.Value) string {
	if own, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := own.MarshalText()
		if err != nil {
			panic(err) // its value was never read
		}
		return string(text)
	}
	switch {
	case v.Type() == durationType:
		return DurationText(time.Duration(v.Int()))
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

// DurationText is d without the zero units of [time.Duration.String]: 20m, not 20m0s.
func DurationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// typeName says what a scalar of the type holds.
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
	case reflect.Int, reflect.Int64, reflect.Uint64:
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

// either names the choices of a list with commas: "a, b or c".
func either(list string) string {
	if i := strings.LastIndex(list, ", "); i >= 0 {
		return list[:i] + " or " + list[i+2:]
	}
	return list
}

// remedyFor says what value would be right.
func remedyFor(t reflect.Type, tag reflect.StructTag) string {
	if t.Kind() == reflect.Struct {
		names := fieldNames(fieldsOf(t))
		return "give keys such as " + strings.Join(names[:min(3, len(names))], ", ")
	}
	a := allowed(t, tag)
	switch {
	case t == rawType:
		return "give one"
	case tag.Get("oneof") != "":
		return "it must be " + either(a)
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
func checkRange(path string, v reflect.Value, tag reflect.StructTag) *Error {
	if names := tag.Get("oneof"); names != "" {
		known := strings.Split(names, ",")
		if slices.Contains(known, v.String()) {
			return nil
		}
		return &Error{Path: path, Message: fmt.Sprintf("%s is %q", path, v.String()), Remedy: remedyFor(v.Type(), tag) + suggest.Hint(v.String(), known)}
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
		return &Error{Path: path, Message: fmt.Sprintf("%s is %s, out of range", path, TextOf(v)), Remedy: remedyFor(v.Type(), tag)}
	}
	return nil
}

// sortedKeys lists the keys of a mapping in their order.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.CanInt() {
			return cmp.Compare(a.Int(), b.Int())
		}
		return cmp.Compare(a.String(), b.String())
	})
	return keys
}
