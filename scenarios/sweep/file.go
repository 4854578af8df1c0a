package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// file is a sweep file that is being read, up to the first error.
type file struct {
	name  string
	lines []string
	root  []*ast.MappingValueNode
	err   error
}

// refuse notes the file's first error. at may be nil: the error is then of the file as a whole.
func (f *file) refuse(at *token.Token, path, message, remedy string) {
	if f.err != nil {
		return
	}
	e := &scenarios.PlanError{File: f.name, Path: path, Message: message, Remedy: remedy}
	if at != nil && at.Position.Line >= 1 && at.Position.Line <= len(f.lines) {
		e.Line, e.Column = at.Position.Line, at.Position.Column
		e.Source = strings.TrimRight(f.lines[e.Line-1], "\r")
	}
	f.err = e
}

// pass notes an error about what stands at a token.
func (f *file) pass(at *token.Token, err error) {
	var e *scenarios.PlanError
	switch {
	case err == nil || f.err != nil:
	case errors.As(err, &e) && e.File == "":
		f.refuse(at, e.Path, e.Message, e.Remedy)
	default:
		f.err = err
	}
}

// placeOf is where the root has a key, or nil.
func (f *file) placeOf(path string) *token.Token {
	key, _, _ := strings.Cut(path, ".")
	for _, e := range f.root {
		if e.Key.GetToken().Value == key {
			return scenarios.FirstToken(e.Value)
		}
	}
	return nil
}

// value is the root's value of a key; nil if there is none, or it is empty.
func (f *file) value(key string) ast.Node {
	for _, e := range f.root {
		if _, empty := e.Value.(*ast.NullNode); !empty && e.Key.GetToken().Value == key {
			return e.Value
		}
	}
	return nil
}

// mapping reads a mapping of known keys.
func (f *file) mapping(node ast.Node, what string, known []string) []*ast.MappingValueNode {
	if node == nil || f.err != nil {
		return nil
	}
	m, ok := node.(*ast.MappingNode)
	if !ok {
		f.refuse(scenarios.FirstToken(node), what, what+" is not a mapping of keys", "give keys such as "+strings.Join(known[:2], " and "))
		return nil
	}
	for _, e := range m.Values {
		key := e.Key.GetToken()
		if _, plain := e.Key.(*ast.StringNode); !plain || !slices.Contains(known, key.Value) {
			f.refuse(key, key.Value, fmt.Sprintf("unknown key %q in %s", key.Value, what), "known are "+strings.Join(known, ", ")+suggest.Hint(key.Value, known))
			return nil
		}
	}
	return m.Values
}

func (f *file) sequence(node ast.Node, path string) []ast.Node {
	if node == nil || f.err != nil {
		return nil
	}
	s, ok := node.(*ast.SequenceNode)
	if !ok {
		f.refuse(scenarios.FirstToken(node), path, path+" is not a list", "write it as a list, each entry after a dash")
		return nil
	}
	return s.Values
}

// scalar is the text of a plain value.
func (f *file) scalar(node ast.Node, path string) string {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return strings.TrimSpace(strings.ReplaceAll(n.Value.Value, "\n", " "))
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return node.GetToken().Value
	case *ast.NullNode:
		f.refuse(scenarios.FirstToken(node), path, path+" has no value", "give one, or leave the key out")
	default:
		f.refuse(scenarios.FirstToken(node), path, fmt.Sprintf("%s is a %s", path, strings.ToLower(node.Type().YAMLName())), "write a plain value")
	}
	return ""
}

func (f *file) string(key string, into *string) {
	node := f.value(key)
	if node == nil {
		return
	}
	switch node.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		*into = f.scalar(node, key)
	default:
		f.refuse(scenarios.FirstToken(node), key, key+" is not text", "write it as a word or a sentence, in quotes if need be")
	}
}

func (f *file) strings(key string, into *[]string) {
	if f.value(key) == nil {
		return
	}
	*into = nil
	for _, node := range f.sequence(f.value(key), key) {
		*into = append(*into, f.scalar(node, key))
	}
}

func (f *file) integer(key string, into *int) {
	node := f.value(key)
	if node == nil {
		return
	}
	n, err := strconv.Atoi(f.scalar(node, key))
	if _, whole := node.(*ast.IntegerNode); err != nil || !whole {
		f.refuse(scenarios.FirstToken(node), key, key+" is not a whole number", "give a number such as 20")
	}
	*into = n
}
