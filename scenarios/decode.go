package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/wavetank-sim/wavetank/faults/suggest"
)

// decoder reads the nodes of one document into a plan or the like, strictly, and remembers where each
// key stands.
type decoder struct {
	what string                     // the document is, such as "a plan"
	at   map[string]*token.Position // of each key's value
}

// problem is a PlanError at a token.
type problem struct {
	*PlanError
	at *token.Position
}

func fail(at *token.Token, path, message, remedy string) *problem {
	return &problem{&PlanError{Path: path, Message: message, Remedy: remedy}, at.Position}
}

// value reads node into v, which is called path.
func (d *decoder) value(path string, node ast.Node, v reflect.Value, f field) *problem {
	tok := FirstToken(node)
	d.at[path] = tok.Position
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return fail(tok, path, fmt.Sprintf("%s uses an anchor, an alias or a tag", path), d.what+" is plain YAML: write the value out, in quotes if it begins with * or &")
	case *ast.NullNode:
		switch v.Kind() {
		case reflect.Struct, reflect.Slice, reflect.Map:
			return nil // a key whose entries are all commented out
		}
		return fail(tok, path, path+" has no value", remedyFor(indirect(v.Type()), f.tag)+", or leave the key out")
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
		return d.numbered(path, node, v, f)
	default:
		return d.scalar(path, node, v, f)
	}
}

// mapping reads a mapping whose keys are the fields of a struct.
func (d *decoder) mapping(path string, node ast.Node, v reflect.Value) *problem {
	m, ok := node.(*ast.MappingNode)
	fields := fieldsOf(v.Type())
	if !ok {
		return fail(FirstToken(node), path, fmt.Sprintf("%s is not a mapping", d.whole(path)), "give keys such as "+strings.Join(fieldNames(fields)[:min(3, len(fields))], ", "))
	}
	for _, entry := range m.Values {
		key := entry.Key.GetToken()
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		if _, plain := entry.Key.(*ast.StringNode); !plain || i < 0 {
			known := fieldNames(fields)
			return fail(key, join(path, key.Value), fmt.Sprintf("unknown key %q in %s", key.Value, d.whole(path)), "known are "+strings.Join(known, ", ")+suggest.Hint(key.Value, known))
		}
		if p := d.value(join(path, fields[i].name), entry.Value, v.Field(fields[i].index), fields[i]); p != nil {
			return p
		}
	}
	return nil
}

// only reads one key of the root and leaves the others for later.
func (d *decoder) only(key string, root *ast.MappingNode, p *Plan) error {
	for _, entry := range root.Values {
		if entry.Key.GetToken().Value == key {
			one := &ast.MappingNode{BaseNode: root.BaseNode, Start: root.Start, Values: []*ast.MappingValueNode{entry}}
			if bad := d.mapping("", one, reflect.ValueOf(p).Elem()); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// locate gives e the place of its key, or of the nearest key around it.
func (d *decoder) locate(e *PlanError) error {
	for path := e.Path; path != ""; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
		if at := d.at[path]; at != nil {
			return &problem{e, at}
		}
	}
	return e
}

func (d *decoder) sequence(path string, node ast.Node, v reflect.Value, f field) *problem {
	s, ok := node.(*ast.SequenceNode)
	if !ok {
		return fail(FirstToken(node), path, path+" is not a list", "write it as a list, each entry after a dash")
	}
	for i, entry := range s.Values {
		e := reflect.New(v.Type().Elem()).Elem()
		if p := d.value(fmt.Sprintf("%s[%d]", path, i), entry, e, field{tag: elementTag(f.tag)}); p != nil {
			return p
		}
		v.Set(reflect.Append(v, e))
	}
	return nil
}

// numbered reads a mapping whose keys are numbers.
func (d *decoder) numbered(path string, node ast.Node, v reflect.Value, f field) *problem {
	m, ok := node.(*ast.MappingNode)
	if !ok {
		return fail(FirstToken(node), path, path+" is not a mapping", "give a mapping such as {3: 15m}")
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, entry := range m.Values {
		key := entry.Key.GetToken()
		n, err := strconv.Atoi(key.Value)
		if err != nil {
			return fail(key, path, fmt.Sprintf("%q in %s is not a number", key.Value, path), "its keys are the numbers of jobs")
		}
		e := reflect.New(v.Type().Elem()).Elem()
		if p := d.value(join(path, strconv.Itoa(n)), entry.Value, e, field{tag: elementTag(f.tag)}); p != nil {
			return p
		}
		v.SetMapIndex(reflect.ValueOf(n), e)
	}
	return nil
}

func (d *decoder) scalar(path string, node ast.Node, v reflect.Value, f field) *problem {
	tok := FirstToken(node)
	isText := v.Kind() == reflect.String
	quoted := tok.Type == token.SingleQuoteType || tok.Type == token.DoubleQuoteType
	var text string
	switch n := node.(type) {
	case *ast.StringNode:
		text = n.Value
		if quoted && !isText && v.Type() != durationType {
			return fail(tok, path, fmt.Sprintf("%s is %q, which is text", path, text), remedyFor(v.Type(), f.tag)+", without quotes")
		}
	case *ast.LiteralNode:
		text = strings.TrimSpace(strings.ReplaceAll(n.Value.Value, "\n", " "))
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = tok.Value
		if isText {
			return fail(tok, path, fmt.Sprintf("%s is %s, which is not text", path, text), fmt.Sprintf("write %q, with quotes, if you mean it", text))
		}
	default:
		return fail(tok, path, fmt.Sprintf("%s is a %s", path, strings.ToLower(node.Type().YAMLName())), remedyFor(v.Type(), f.tag))
	}
	if e := setScalar(path, v, text, f.tag); e != nil {
		return &problem{e, tok.Position}
	}
	return nil
}

// elementTag is the part of a list's or a mapping's tag that speaks of its elements.
func elementTag(tag reflect.StructTag) reflect.StructTag {
	var kept []string
	for _, key := range []string{"min", "max", "oneof", "like"} {
		if word := tag.Get(key); word != "" {
			kept = append(kept, fmt.Sprintf("%s:%q", key, word))
		}
	}
	return reflect.StructTag(strings.Join(kept, " "))
}

// FirstToken is where a person would say that a node begins: a block mapping's own token is the
// colon after its first key.
func FirstToken(node ast.Node) *token.Token {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return node.GetToken()
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *decoder) whole(path string) string {
	if path == "" {
		return d.what
	}
	return path
}
