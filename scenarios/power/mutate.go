package power

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/wavetank-sim/wavetank/sim"
)

// Operator is a kind of mistake.
type Operator string

// The operators.
const (
	Negated  Operator = "negated"    // a condition is turned round
	Ignored  Operator = "ignored"    // an error is passed over
	OffByOne Operator = "off-by-one" // < for <=, or the other way round
	Dropped  Operator = "dropped"    // a call or an assignment is left out
	Swapped  Operator = "swapped"    // two statements change places
	Field    Operator = "field"      // another field of the same struct, of the same type
)

var operators = []Operator{Negated, Ignored, OffByOne, Dropped, Swapped, Field}

// Mutation is a mechanical mistake in one place of the code.
type Mutation struct {
	Operator Operator `json:"operator"`
	File     string   `json:"file"` // from the module's root
	Line     int      `json:"line"`
	Column   int      `json:"column"` // in bytes, from 1
	Offset   int      `json:"offset"` // of Old in the file
	Old      string   `json:"old"`
	New      string   `json:"new"`
}

// String is FILE:LINE OPERATOR.
func (m Mutation) String() string { return fmt.Sprintf("%s:%d %s", m.File, m.Line, m.Operator) }

// ErrChanged is of a measurement under which the source has changed.
var ErrChanged = errors.New("the source has changed since the measurement began; measure anew, in another folder")

// Apply makes the mistake in the code of its file.
func (m Mutation) Apply(code []byte) ([]byte, error) {
	end := m.Offset + len(m.Old)
	if end > len(code) || string(code[m.Offset:end]) != m.Old {
		return nil, fmt.Errorf("%s: %w", m, ErrChanged)
	}
	return slices.Concat(code[:m.Offset], []byte(m.New), code[end:]), nil
}

// Draw takes n of the mutations by seed, of each operator as many as of the others, in an order in which those of a
// smaller n come first.
func Draw(all []Mutation, seed uint64, n int) (drawn []Mutation) {
	of := map[Operator][]Mutation{}
	for _, m := range all {
		of[m.Operator] = append(of[m.Operator], m)
	}
	for _, list := range of {
		key := func(m Mutation) uint64 { return sim.Draw(seed, "mutation", m.String(), strconv.Itoa(m.Offset)) }
		slices.SortStableFunc(list, func(a, b Mutation) int { return cmp.Compare(key(a), key(b)) })
	}
	for round := 0; len(drawn) < min(n, len(all)); round++ {
		for _, op := range operators {
			if round < len(of[op]) && len(drawn) < n {
				drawn = append(drawn, of[op][round])
			}
		}
	}
	return drawn
}

// Mutations lists every mistake that the operators can make in the packages that match the patterns, in the order of
// files and places. What only says something to people is left alone: logs and the texts of errors. The source of the
// module must be in the folder root.
func Mutations(root string, patterns ...string) ([]Mutation, error) {
	fset := token.NewFileSet()
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		Dir:  root, Fset: fset,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	var all []Mutation
	for _, p := range list {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		for i, file := range p.Syntax {
			path := p.CompiledGoFiles
			if len(path) == 0 {
				path = p.GoFiles
			}
			code, err := os.ReadFile(path[i])
			if err != nil {
				return nil, err
			}
			if ast.IsGenerated(file) {
				continue
			}
			name, err := filepath.Rel(root, path[i])
			if err != nil {
				return nil, err
			}
			m := &mutator{fset: fset, info: p.TypesInfo, file: filepath.ToSlash(name), code: code}
			ast.Inspect(file, m.visit)
			all = append(all, m.found...)
		}
	}
	slices.SortStableFunc(all, func(a, b Mutation) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Offset - b.Offset
	})
	return all, nil
}

// mutator finds the mistakes that can be made in one file.
type mutator struct {
	fset  *token.FileSet
	info  *types.Info
	file  string
	code  []byte
	found []Mutation
}

func (m *mutator) add(op Operator, from, to token.Pos, text string) {
	begin, end := m.fset.Position(from), m.fset.Position(to)
	m.found = append(m.found, Mutation{
		Operator: op, File: m.file, Line: begin.Line, Column: begin.Column, Offset: begin.Offset,
		Old: string(m.code[begin.Offset:end.Offset]), New: text,
	})
}

func (m *mutator) text(n ast.Node) string {
	var b bytes.Buffer
	_ = printer.Fprint(&b, m.fset, n)
	return b.String()
}

func (m *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		m.condition(n.Cond)
	case *ast.BinaryExpr:
		if other, ok := neighbours[n.Op]; ok {
			m.add(OffByOne, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String())
		}
	case *ast.BlockStmt:
		m.statements(n.List)
	case *ast.CaseClause:
		m.statements(n.Body)
	case *ast.CommClause:
		m.statements(n.Body)
	case *ast.SelectorExpr:
		m.field(n)
	case *ast.CallExpr:
		return !tells(n)
	}
	return true
}

var neighbours = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}

// condition turns it round; one that asks for an error is passed over, too.
func (m *mutator) condition(cond ast.Expr) {
	text := m.text(cond)
	if b, ok := cond.(*ast.BinaryExpr); ok && b.Op == token.NEQ && m.isError(b.X) && m.text(b.Y) == "nil" {
		m.add(Ignored, cond.Pos(), cond.End(), "false && "+text)
		return
	}
	m.add(Negated, cond.Pos(), cond.End(), "!("+text+")")
}

func (m *mutator) isError(e ast.Expr) bool {
	t := m.info.TypeOf(e)
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// statements leaves out one of a block, or has two change places.
func (m *mutator) statements(list []ast.Stmt) {
	for i, s := range list {
		if !does(s) {
			continue
		}
		m.add(Dropped, s.Pos(), s.End(), "")
		if i+1 < len(list) && does(list[i+1]) {
			next := list[i+1]
			m.add(Swapped, s.Pos(), next.End(), m.text(next)+"\n"+m.text(s))
		}
	}
}

// does says whether a statement is a call or an assignment without which the code still compiles.
func does(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		return ok && !tells(call)
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.IncDecStmt:
		return true
	}
	return false
}

// tells says whether a call only says something to people.
func tells(call *ast.CallExpr) bool {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if x, ok := f.X.(*ast.Ident); ok && (x.Name == "slog" || x.Name == "errors" && name == "New" || x.Name == "fmt") {
			return true
		}
	}
	return strings.HasPrefix(strings.ToLower(name), "log") || name == "panic"
}

// field takes another field of the struct, the next of the same type.
func (m *mutator) field(sel *ast.SelectorExpr) {
	s := m.info.Selections[sel]
	if s == nil || s.Kind() != types.FieldVal || len(s.Index()) != 1 {
		return
	}
	t := s.Recv()
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	at, n := s.Index()[0], st.NumFields()
	for i := 1; i < n; i++ {
		f := st.Field((at + i) % n)
		if f.Embedded() || !types.Identical(f.Type(), s.Obj().Type()) || !f.Exported() && f.Pkg() != s.Obj().Pkg() {
			continue
		}
		m.add(Field, sel.Sel.Pos(), sel.Sel.End(), f.Name())
		return
	}
}
