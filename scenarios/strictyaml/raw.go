package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// raw reads any value, as JSON.
func (d *Document) raw(path string, node ast.Node, v reflect.Value) *Error {
	var b bytes.Buffer
	if e := d.json(&b, path, node); e != nil {
		return e
	}
	v.SetBytes(b.Bytes())
	return nil
}

// json writes what a node is as JSON. A number stays as it is written.
func (d *Document) json(b *bytes.Buffer, path string, node ast.Node) *Error {
	tok := firstToken(node)
	switch n := node.(type) {
	case *ast.NullNode:
		b.WriteString("null")
	case *ast.BoolNode:
		b.WriteString(strconv.FormatBool(n.Value))
	case *ast.IntegerNode, *ast.FloatNode:
		if !json.Valid([]byte(tok.Value)) {
			return d.refuse(tok, path, fmt.Sprintf("%s is %s, which is no number of JSON", path, tok.Value), "write it as a decimal number, or in quotes")
		}
		b.WriteString(tok.Value)
	case *ast.StringNode:
		if n.Token.Type == token.StringType && json.Valid([]byte(n.Value)) { // a number that the YAML parser does not know as one, such as 1e3
			b.WriteString(n.Value)
		} else {
			b.WriteString(quoted(n.Value))
		}
	case *ast.LiteralNode:
		b.WriteString(quoted(n.Value.Value))
	case *ast.SequenceNode:
		b.WriteByte('[')
		for i, entry := range n.Values {
			if i > 0 {
				b.WriteByte(',')
			}
			if e := d.json(b, fmt.Sprintf("%s[%d]", path, i), entry); e != nil {
				return e
			}
		}
		b.WriteByte(']')
	case *ast.MappingNode:
		b.WriteByte('{')
		for i, entry := range n.Values {
			if e := d.textKey(path, entry); e != nil {
				return e
			}
			if i > 0 {
				b.WriteByte(',')
			}
			key := entry.Key.GetToken().Value
			b.WriteString(quoted(key) + ":")
			if e := d.json(b, Join(path, key), entry.Value); e != nil {
				return e
			}
		}
		b.WriteByte('}')
	default:
		return d.refuse(tok, path, fmt.Sprintf("%s is %q, which JSON cannot say", path, tok.Value), "write plain values, lists and mappings")
	}
	return nil
}

// quoted is text as JSON, whose escapes are also YAML's.
func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSpace(b.String())
}
