package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// empty makes every import an empty package: calls within this one are resolved all the same.
type empty struct{}

func (empty) Import(of string) (*types.Package, error) {
	p := types.NewPackage(of, path.Base(of))
	p.MarkComplete()
	return p, nil
}

// Calls go down the list of files in doc.go, and every file is in it.
func TestCallsGoDownTheListOfFiles(t *testing.T) {
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	var doc string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		require.NoError(t, err)
		if files = append(files, f); name == "doc.go" {
			doc = f.Doc.Text()
		}
	}
	_, list, _ := strings.Cut(doc, "Calls go down this list only:")
	rank := map[string]int{"doc.go": 0}
	for _, line := range regexp.MustCompile(`(?m)^\t([\w, ]+):`).FindAllStringSubmatch(list, -1) {
		for name := range strings.SplitSeq(line[1], ", ") {
			rank[name+".go"] = len(rank)
		}
	}
	file := func(at token.Pos) string {
		name := fset.Position(at).Filename
		assert.Contains(t, rank, name)
		return name
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: empty{}, Error: func(error) {}}
	pkg, _ := conf.Check("sim", fset, files, info)
	calls := 0
	for use, of := range info.Uses {
		if f, is := of.(*types.Func); is && f.Pkg() == pkg {
			from, to := file(use.Pos()), file(f.Pos())
			if from != to {
				calls++
			}
			assert.LessOrEqual(t, rank[from], rank[to], "%s calls %s, up in %s", fset.Position(use.Pos()), f.Name(), to)
		}
	}
	assert.Greater(t, calls, 100)
	assert.Len(t, rank, len(files), "doc.go lists files that are not there, or lacks some")
}
