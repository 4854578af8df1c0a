package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a document. What passes them would keep the YAML parser busy for minutes.
const (
	lineBytesMax = 64 << 10
	depthMax     = 32
)

// Document is one YAML document, of a file or of a part of it.
type Document struct {
	kind  Kind
	name  string // of the file
	lines []string
	root  ast.Node
	at    map[string]*token.Token // where the value of each key that was read begins
}

func newDocument(k Kind, name string, lines []string) *Document {
	return &Document{kind: k, name: name, lines: lines, at: map[string]*token.Token{}}
}

func (d *Document) parse(data []byte) error {
	what := d.kind.What
	whole := func(message, remedy string) error { return &Error{File: d.name, Message: message, Remedy: remedy} }
	switch {
	case len(data) > fileBytesMax:
		return whole(fmt.Sprintf("this is longer than %s can be", what), fmt.Sprintf("%s has at most %d KiB", what, fileBytesMax>>10))
	case !utf8.Valid(data) || bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }):
		return whole("this is not text", what+" is YAML in UTF-8")
	}
	if line := overlong(data); line > 0 {
		return d.refuse(&token.Token{Position: &token.Position{Line: line, Column: 1}}, "", "this line is too long, or its brackets nest too deep", what+" needs no such line")
	}
	file, err := parser.ParseBytes(data, 0)
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax) && syntax.GetToken() != nil:
		return d.broken(syntax.GetToken(), syntax.GetMessage())
	case err != nil:
		return whole("broken YAML: "+err.Error(), "mend the syntax")
	}
	for _, doc := range file.Docs {
		switch b := doc.Body.(type) {
		case nil:
		case *ast.DirectiveNode:
			return d.refuse(b.GetToken(), "", what+" has no directives", "take the line away")
		default:
			if d.root != nil {
				return d.refuse(firstToken(b), "", "a second document begins here", "a file holds "+strings.Replace(what, "a ", "one ", 1))
			}
			d.root = b
		}
	}
	if d.root == nil {
		return whole("this is empty", what+" has at least "+d.kind.Has)
	}
	return nil
}

// broken says where the syntax is wrong. The parser takes a colon in a plain text for that of a key, and points at the text,
// which may have begun lines before.
func (d *Document) broken(at *token.Token, message string) *Error {
	colon, before := at.Next, at.Prev
	if colon == nil || before == nil || colon.Type != token.MappingValueType || before.Type != token.MappingValueType || at.Position.Line != before.Position.Line {
		return d.refuse(at, "", "broken YAML: "+message, "mend the syntax here or nearby")
	}
	key := "the key before"
	if before.Prev != nil {
		key = before.Prev.Value
	}
	if colon.Position.Line == at.Position.Line {
		return d.refuse(colon, "", "broken YAML: the value of "+key+" has a colon in it", `put a text with ": " in it into quotes`)
	}
	e := d.refuse(colon, "", fmt.Sprintf("broken YAML: %s has a value already, and this line is indented as a part of it", key), "indent it as its neighbours; or put the text into quotes, if that goes on here")
	e.Column = 1 + len(e.Source) - len(strings.TrimLeft(e.Source, " "))
	return e
}

// overlong returns the number of the first line that passes a bound, or 0.
func overlong(data []byte) int {
	line, length, depth := 1, 0, 0
	for _, b := range data {
		length++
		switch b {
		case '\n':
			line++
			length = 0
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if length > lineBytesMax || depth > depthMax {
			return line
		}
	}
	return 0
}

// HasKey says whether the document has a key of that name at its root.
func (d *Document) HasKey(key string) bool { return d.entry(key) != nil }

func (d *Document) entry(key string) *ast.MappingValueNode {
	root, ok := d.root.(*ast.MappingNode)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(root.Values, func(e *ast.MappingValueNode) bool { return e.Key.GetToken().Value == key })
	if i < 0 {
		return nil
	}
	return root.Values[i]
}

// Given says whether the document had the key of that path, such as workload.jobs, when it was decoded.
func (d *Document) Given(path string) bool { return d.at[path] != nil }

// Locate gives an [*Error] the file, and the place of its path, or of the nearest key around it. An error that has a
// file, or is of another type, stays as it is.
func (d *Document) Locate(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.File != "" {
		return err
	}
	all := []*Error{d.locate(e)}
	for _, also := range e.Also {
		all = append(all, d.locate(also))
	}
	return Together(all...)
}

func (d *Document) locate(e *Error) *Error {
	for path := e.Path; path != ""; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
		if at := d.at[path]; at != nil {
			return d.refuse(at, e.Path, e.Message, e.Remedy)
		}
	}
	located := *e
	located.File, located.Also = d.name, nil
	return &located
}

// refuse is an error about what begins at a token.
func (d *Document) refuse(at *token.Token, path, message, remedy string) *Error {
	e := &Error{File: d.name, Line: at.Position.Line, Column: at.Position.Column, Path: path, Message: message, Remedy: remedy}
	if e.Line >= 1 && e.Line <= len(d.lines) {
		e.Source = strings.TrimRight(d.lines[e.Line-1], "\r")
	}
	return e
}

// firstToken is where a person would say that a node begins: a block mapping's own token is the colon after its
// first key.
func firstToken(node ast.Node) *token.Token {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return node.GetToken()
}

// textKey refuses a key that is not text.
func (d *Document) textKey(path string, entry *ast.MappingValueNode) *Error {
	if _, plain := entry.Key.(*ast.StringNode); plain {
		return nil
	}
	tok := entry.Key.GetToken()
	return d.refuse(tok, path, fmt.Sprintf("%q in %s is a key that is not text", tok.Value, path), "write it in quotes")
}
