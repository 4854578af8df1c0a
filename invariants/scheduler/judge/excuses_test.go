package judge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What strikes excuse is the promise matrix's to say. No checker looks at them: only the tally does, which asks the matrix.
func TestNoCheckerKnowsOfStrikes(t *testing.T) {
	var files []string
	for _, dir := range []string{".", "../policies", "../workflows", "../replay"} {
		list, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		files = append(files, list...)
	}
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"judge.go", "rules.go"}, name) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		seen++
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				assert.False(t, strings.HasPrefix(id.Name, "Strike") || strings.HasPrefix(id.Name, "Struck"), "%s reads %s", name, id.Name)
			}
			return true
		})
	}
	assert.Greater(t, seen, 30)
}
