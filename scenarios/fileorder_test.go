package scenarios_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// small is how many files a package may have without an order.
const small = 3

// In a package the files call down the order that its doc.go gives. What counts is every use of a function or a method of
// another file, called or taken as a value. Types, variables and constants are no calls, and a call through an
// interface is one of whatever implements it.
func TestFilesCallDown(t *testing.T) {
	fset, list := sources(t)
	packages := map[string][]source{} // by their directories
	for _, s := range list {
		if !s.test {
			dir := filepath.Dir(s.path)
			packages[dir] = append(packages[dir], s)
		}
	}
	compiled := importer.ForCompiler(fset, "gc", exports(t))
	for dir, files := range packages {
		var order, names []string
		for _, s := range files {
			switch name := filepath.Base(s.path); {
			case name == "doc.go":
				order = orderOf(s.file.Doc.Text())
			case !ast.IsGenerated(s.file):
				names = append(names, name)
			}
		}
		if len(names) <= small && order == nil {
			continue
		}
		if !assert.ElementsMatch(t, names, order, "the order of files in %s/doc.go", dir) {
			continue
		}
		calls, err := callsBetween(fset, compiled, module+dir, files)
		require.NoError(t, err)
		for _, c := range calls {
			if to := slices.Index(order, c.to); to >= 0 { // generated files have no place
				assert.Less(t, slices.Index(order, c.from), to, "%s: %s calls %s of %s, which is before it in the order of doc.go", dir, c.from, c.name, c.to)
			}
		}
	}
}

// orderOf reads the order from the comment of a package.
func orderOf(doc string) []string {
	var order []string
	_, table, _ := strings.Cut(doc, "Its files, each of which calls only those after it:\n\n")
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "\t") {
			break
		}
		names, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		order = append(order, strings.Split(strings.TrimSuffix(names, ","), ", ")...)
	}
	return order
}

// exports finds what the compiler has said of a package that the module uses.
func exports(t *testing.T) importer.Lookup {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...")
	list.Dir, list.Stderr = "..", os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	files := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		files[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

// fileCall is a use in one file of a function or a method that is declared in another.
type fileCall struct{ from, to, name string }

func callsBetween(fset *token.FileSet, compiled types.Importer, path string, files []source) ([]fileCall, error) {
	var parsed []*ast.File
	for _, s := range files {
		parsed = append(parsed, s.file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := (&types.Config{Importer: compiled}).Check(path, fset, parsed, info)
	if err != nil {
		return nil, err
	}
	in := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	var calls []fileCall
	for id, used := range info.Uses {
		f, ok := used.(*types.Func)
		if !ok || f.Pkg() != pkg {
			continue
		}
		if r := f.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
			continue
		}
		if from, to := in(id.Pos()), in(f.Origin().Pos()); from != to {
			calls = append(calls, fileCall{from, to, f.Name()})
		}
	}
	return calls, nil
}
