package strictyaml

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// Node is a value that is read later, in another way than the type of a struct's field could say. The zero Node is
// of a key that was not given.
type Node struct {
	doc  *Document
	path string
	node ast.Node
}

// Entry is a key of a mapping, and its value.
type Entry struct {
	Name       string // the key's
	Key, Value Node
}

// Given says whether there is a value.
func (n Node) Given() bool { return n.node != nil }

// Locate gives an [*Error] without a file the file and the place of the value.
func (n Node) Locate(err error) error {
	if e, ok := err.(*Error); ok && e.File == "" {
		return n.doc.refuse(firstToken(n.node), e.Path, e.Message, e.Remedy)
	}
	return err
}

// Text is a scalar as it is written.
func (n Node) Text() (string, error) {
	tok := firstToken(n.node)
	switch node := n.node.(type) {
	case *ast.StringNode:
		return node.Value, nil
	case *ast.LiteralNode:
		return oneLine(node), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return tok.Value, nil
	case *ast.NullNode:
		return "", n.doc.refuse(tok, n.path, n.path+" has no value", "give one, or leave it out")
	}
	return "", n.doc.refuse(tok, n.path, fmt.Sprintf("%s is a %s", n.path, yamlName(n.node)), "write a plain value")
}

// List is the entries of a list, or else the value by itself.
func (n Node) List() []Node {
	s, ok := n.node.(*ast.SequenceNode)
	if !ok {
		return []Node{n}
	}
	var list []Node
	for i, entry := range s.Values {
		list = append(list, Node{n.doc, fmt.Sprintf("%s[%d]", n.path, i), entry})
	}
	return list
}

// Entries is the keys and values of a mapping, in their order. The keys may be any.
func (n Node) Entries() (list []Entry, err error) {
	m, ok := n.node.(*ast.MappingNode)
	if !ok {
		return nil, n.doc.refuse(firstToken(n.node), n.path, n.path+" is not a mapping", "give keys and their values")
	}
	for _, entry := range m.Values {
		name := entry.Key.GetToken().Value
		path := Join(n.path, name)
		list = append(list, Entry{name, Node{n.doc, path, entry.Key}, Node{n.doc, path, entry.Value}})
	}
	return list, nil
}

// IsMapping says whether the value has keys.
func (n Node) IsMapping() bool {
	_, is := n.node.(*ast.MappingNode)
	return is
}

// Document is a mapping as a document of its own.
func (n Node) Document(k Kind) (*Document, error) {
	d := newDocument(k, n.doc.name, n.doc.lines)
	d.root = n.node
	return d, d.checkVersion()
}
