package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// Delve finds functions and fields by their names. A change of one in package sim must show here.
func TestDelveFindsWhereAStepIs(t *testing.T) {
	packages, err := parser.ParseDir(token.NewFileSet(), "../../sim", nil, parser.SkipObjectResolution) //lint:ignore SA1019 names are all that is asked for
	require.NoError(t, err)
	methods, fields := map[string]string{}, map[string]string{} // with the names of receivers, and with types
	ast.Inspect(packages["sim"], func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && len(n.Recv.List[0].Names) > 0 {
				if star, is := n.Recv.List[0].Type.(*ast.StarExpr); is {
					methods["(*"+nameOf(star.X)+")."+n.Name.Name] = n.Recv.List[0].Names[0].Name
				}
			}
		case *ast.TypeSpec:
			if s, is := n.Type.(*ast.StructType); is {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						fields[n.Name.Name+"."+name.Name] = strings.TrimPrefix(nameOf(f.Type), "*")
					}
				}
			}
		}
		return true
	})
	assert.Equal(t, "p", methods[wokenAt])
	assert.Equal(t, "w", methods[grantedAt])
	assert.Equal(t, "p.node.world.steps == %d", woken)
	assert.Equal(t, "w.steps == %d", granted)
	assert.Equal(t, []string{"Node", "World", "int"}, []string{fields["Process.node"], fields["Node.world"], fields["World.steps"]})
}

// nameOf is the name of a type, or of what it points to.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return nameOf(e.X)
	case *ast.Ident:
		return e.Name
	case *ast.IndexExpr:
		return nameOf(e.X)
	}
	return ""
}

func TestWhatDelveDoes(t *testing.T) {
	e := sim.Event{Step: 341, At: 3844135705, Node: "scheduler-1", Kind: sim.KindPublish, Target: "worker.worker-1.jobs", Job: "job-3", Phase: "publish"}
	assert.Equal(t, `# Step 341, 3.844s: publish, worker.worker-1.jobs, publish, job-3, scheduler-1.
# The goroutine that makes the step has been granted it. Continue once, and the step takes effect.
break wanted github.com/wavetank-sim/wavetank/sim.(*Process).exitIfDead
condition wanted p.node.world.steps == 341
continue
stack 20
`, delveInit(e))
	assert.Contains(t, delveInit(sim.Event{Step: 7, Kind: sim.KindTimer}), "sim.(*World).grant\ncondition wanted w.steps == 6\n")
}
