package strictyaml

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/wavetank-sim/wavetank/faults/suggest"
)

var (
	nodeType = reflect.TypeFor[Node]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// value reads node into v, which is called path.
func (d *Document) value(path string, node ast.Node, v reflect.Value, f field) *Error {
	tok := firstToken(node)
	d.at[path] = tok
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return d.refuse(tok, path, path+" uses an anchor, an alias or a tag", d.kind.What+" is plain YAML: write the value out, in quotes if it begins with * or &")
	case *ast.NullNode:
		switch v.Kind() {
		case reflect.Struct, reflect.Slice, reflect.Map:
			if v.Type() != rawType {
				return nil // a key whose entries are all commented out
			}
		}
		return d.refuse(tok, path, path+" has no value", remedyFor(indirect(v.Type()), f.tag)+", or leave the key out")
	}
	switch v.Type() {
	case nodeType:
		v.Set(reflect.ValueOf(Node{d, path, node}))
		return nil
	case rawType:
		return d.raw(path, node, v)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(path, node, v.Elem(), f)
	case reflect.Struct:
		return d.mapping(path, node, v)
	case reflect.Slice:
		return d.sequence(path, node, v, f)
	case reflect.Map:
		return d.mapOf(path, node, v, f)
	default:
		return d.scalar(path, node, v, f)
	}
}

// mapping reads a mapping whose keys are the fields of a struct.
func (d *Document) mapping(path string, node ast.Node, v reflect.Value) *Error {
	m, ok := node.(*ast.MappingNode)
	if !ok {
		return d.refuse(firstToken(node), path, d.whole(path)+" is not a mapping", remedyFor(v.Type(), ""))
	}
	if e := d.entries(path, m, v); e != nil {
		return e
	}
	for _, f := range fieldsOf(v.Type()) {
		if f.required && d.at[Join(path, f.name)] == nil {
			return d.refuse(firstToken(node), path, fmt.Sprintf("%s has no %s", d.whole(path), f.name), "add it")
		}
	}
	return nil
}

func (d *Document) entries(path string, m *ast.MappingNode, v reflect.Value) *Error {
	fields := fieldsOf(v.Type())
	var wrong []*Error
	for _, entry := range m.Values {
		key := entry.Key.GetToken()
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		if _, plain := entry.Key.(*ast.StringNode); !plain || i < 0 {
			known := fieldNames(fields)
			remedy := "known are " + strings.Join(known, ", ")
			if len(known) > 50 {
				remedy = "`wavetank explain " + path + "` lists those that are known"
			}
			wrong = append(wrong, d.refuse(key, Join(path, key.Value), fmt.Sprintf("unknown key %q in %s%s", key.Value, d.whole(path), suggest.Hint(key.Value, known)), remedy))
			continue
		}
		wrong = append(wrong, d.value(Join(path, fields[i].name), entry.Value, v.Field(fields[i].index), fields[i]))
	}
	return Together(wrong...)
}

func (d *Document) sequence(path string, node ast.Node, v reflect.Value, f field) *Error {
	s, ok := node.(*ast.SequenceNode)
	if !ok {
		return d.refuse(firstToken(node), path, path+" is not a list", "write it as a list, each entry after a dash")
	}
	v.SetZero()
	var wrong []*Error
	for i, entry := range s.Values {
		item := reflect.New(v.Type().Elem()).Elem()
		wrong = append(wrong, d.value(fmt.Sprintf("%s[%d]", path, i), entry, item, f.element()))
		v.Set(reflect.Append(v, item))
	}
	return Together(wrong...)
}

// mapOf reads a mapping whose keys are numbers or texts.
func (d *Document) mapOf(path string, node ast.Node, v reflect.Value, f field) *Error {
	numbers := v.Type().Key().Kind() == reflect.Int
	m, ok := node.(*ast.MappingNode)
	if !ok {
		such := "{zone: a}"
		if numbers {
			such = "{3: 15m}"
		}
		return d.refuse(firstToken(node), path, path+" is not a mapping", "give a mapping such as "+such)
	}
	v.SetZero() // an empty mapping is none, as an empty list is
	if len(m.Values) > 0 {
		v.Set(reflect.MakeMap(v.Type()))
	}
	var wrong []*Error
	for _, entry := range m.Values {
		tok := entry.Key.GetToken()
		key := reflect.ValueOf(tok.Value)
		if numbers {
			n, err := strconv.Atoi(tok.Value)
			if err != nil {
				wrong = append(wrong, d.refuse(tok, path, fmt.Sprintf("%q in %s is not a number", tok.Value, path), "its keys are the numbers of jobs"))
				continue
			}
			key = reflect.ValueOf(n)
		} else if e := d.textKey(path, entry); e != nil {
			wrong = append(wrong, e)
			continue
		}
		item := reflect.New(v.Type().Elem()).Elem()
		wrong = append(wrong, d.value(Join(path, fmt.Sprint(key)), entry.Value, item, f.element()))
		if literal, ok := entry.Value.(*ast.LiteralNode); ok && !numbers {
			item.SetString(literal.Value.Value) // with its lines, as of a script
		}
		v.SetMapIndex(key, item)
	}
	return Together(wrong...)
}

func (d *Document) scalar(path string, node ast.Node, v reflect.Value, f field) *Error {
	tok := firstToken(node)
	isText := v.Kind() == reflect.String
	quoted := tok.Type == token.SingleQuoteType || tok.Type == token.DoubleQuoteType
	var text string
	switch n := node.(type) {
	case *ast.StringNode:
		text = n.Value
		switch {
		case f.instant:
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return d.refuse(tok, path, fmt.Sprintf("%s is %q, which is no time", path, text), "write it as 2030-01-02T15:04:05Z, or in Unix milliseconds")
			}
			text = strconv.FormatInt(at.UnixMilli(), 10)
		case quoted && !isText && v.Type() != durationType:
			return d.refuse(tok, path, fmt.Sprintf("%s is %q, which is text", path, text), remedyFor(v.Type(), f.tag)+", without quotes")
		}
	case *ast.LiteralNode:
		text = oneLine(n)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = tok.Value
		if isText {
			return d.refuse(tok, path, fmt.Sprintf("%s is %s, which is not text", path, text), fmt.Sprintf("write %q, with quotes, if you mean it", text))
		}
	default:
		return d.refuse(tok, path, fmt.Sprintf("%s is a %s", path, yamlName(node)), remedyFor(v.Type(), f.tag))
	}
	if f.nonempty && text == "" {
		return d.refuse(tok, path, path+" is empty", "give it a value, or leave the key out")
	}
	if e := setScalar(path, v, text, f.tag); e != nil {
		return d.refuse(tok, path, e.Message, e.Remedy)
	}
	return nil
}

// oneLine is the text of a block on one line.
func oneLine(n *ast.LiteralNode) string {
	return strings.TrimSpace(strings.ReplaceAll(n.Value.Value, "\n", " "))
}

func yamlName(node ast.Node) string { return strings.ToLower(node.Type().YAMLName()) }

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func (d *Document) whole(path string) string {
	if path == "" {
		return d.kind.What
	}
	return path
}

// Decode reads the whole document into the struct that into points to. It lays what is given over what is there.
func (d *Document) Decode(into any) error {
	if e := d.mapping("", d.root, reflect.ValueOf(into).Elem()); e != nil {
		return e
	}
	return nil
}

// DecodeKey reads one key of the document, and leaves the others for later.
func (d *Document) DecodeKey(key string, into any) error {
	root, _ := d.root.(*ast.MappingNode)
	if entry := d.entry(key); entry != nil {
		one := &ast.MappingNode{BaseNode: root.BaseNode, Start: root.Start, Values: []*ast.MappingValueNode{entry}}
		if e := d.entries("", one, reflect.ValueOf(into).Elem()); e != nil {
			return e
		}
	}
	return nil
}
