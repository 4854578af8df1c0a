package judge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What strikes excuse is the promise matrix's to say. No checker looks at them: only the judge does, which asks the matrix.
func TestNoCheckerKnowsOfStrikes(t *testing.T) {
	tested, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go") && f.Name() != "judge.go" && f.Name() != "rules.go"
	}, parser.SkipObjectResolution)
	require.NoError(t, err)
	seen := 0
	for name, file := range tested["judge"].Files {
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
