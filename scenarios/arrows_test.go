package scenarios_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/wavetank-sim/wavetank/"

// rooms are those of the house, and the rooms below that each may use. Rooms inside a room are
// part of it.
var rooms = map[string][]string{
	"cmd":        {"reports", "scenarios", "invariants", "faults", "sim", "engine"},
	"reports":    {"scenarios", "invariants", "faults", "sim", "engine"},
	"scenarios":  {"invariants", "faults", "sim", "engine"},
	"invariants": {"faults", "sim"}, // an oracle shares no code with its subject; what struck that, the injector says
	"faults":     {"sim"},
	"sim":        {},
	"engine":     {},
}

// source is one Go file of the module.
type source struct {
	path string // from the module's root
	room string
	test bool
	file *ast.File
}

// parsed is the whole module, which several tests read and none changes.
var parsed = sync.OnceValues(parse)

var files = token.NewFileSet()

func sources(t *testing.T) (*token.FileSet, []source) {
	t.Helper()
	list, err := parsed()
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return files, list
}

func parse() (list []source, err error) {
	const root = ".."
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		room, _, _ := strings.Cut(rel, "/")
		list = append(list, source{rel, room, strings.HasSuffix(rel, "_test.go"), file})
		return nil
	})
	return list, err
}

func imports(f *ast.File) []string {
	var paths []string
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, path)
	}
	return paths
}

// Arrows point down the list of rooms only; tests keep to it, too.
func TestArrowsPointDown(t *testing.T) {
	_, list := sources(t)
	for _, s := range list {
		below, known := rooms[s.room]
		if !assert.True(t, known, "%s is in no room of the house", s.path) {
			continue
		}
		for _, path := range imports(s.file) {
			rest, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			room, _, _ := strings.Cut(rest, "/")
			assert.True(t, room == s.room || slices.Contains(below, room), "%s imports %s: %s may use %v only", s.path, rest, s.room, below)
		}
	}
}

// The scheduler's own command line runs in production: it knows nothing of the simulator. The audit judges with the
// invariants, which share the simulator's words for what a server holds.
func TestTheSchedulerKnowsNoSimulator(t *testing.T) {
	allowed := []string{"scenarios/strictyaml", "scenarios/policyfile", "scenarios/buildname", "scenarios/visible", "scenarios/shell", "faults/suggest"}
	_, list := sources(t)
	seen := 0
	for _, s := range list {
		if !strings.HasPrefix(s.path, "cmd/scheduler/") && !strings.HasPrefix(s.path, "cmd/internal/") {
			continue
		}
		seen++
		for _, path := range imports(s.file) {
			rest, ours := strings.CutPrefix(path, module)
			room, _, _ := strings.Cut(rest, "/")
			if ours && slices.Contains([]string{"reports", "scenarios", "faults", "sim"}, room) {
				assert.Contains(t, allowed, rest, s.path)
			}
		}
	}
	assert.NotZero(t, seen)
}

// Runs, searches, campaigns, sweeps and pages could be of another service: what is the scheduler's own comes from
// scenarios/scheduler, and what a plan says of it from scenarios/plans.
func TestTheEngineMeetsTheWorldInOneRoom(t *testing.T) {
	allowed := map[string]string{
		"scenarios/scheduler":        "the nodes and their clients, and the words for what they do",
		"scenarios/scheduler/actors": "who stands around the scheduler",
		"scenarios/plans":            "a plan sets the scheduler's settings",
		"scenarios/policyfile":       "a plan's rules are the safety kernel's",
		"scenarios/search":           "drawn plans draw such rules",
	}
	_, list := sources(t)
	used := map[string]bool{}
	for _, s := range list {
		if s.test || !slices.Contains([]string{"reports", "scenarios", "invariants", "faults", "sim"}, s.room) {
			continue
		}
		for _, path := range imports(s.file) {
			if rest, ours := strings.CutPrefix(path, module); ours && (rest == "engine" || strings.HasPrefix(rest, "engine/")) {
				assert.Contains(t, allowed, filepath.Dir(s.path), "%s imports %s", s.path, rest)
				used[filepath.Dir(s.path)] = true
			}
		}
	}
	assert.Len(t, used, len(allowed), "a room is allowed what it does not need")
}

// What judges any service knows none. The scheduler's oracle reads the history of a run, keeps a model of it, and judges
// that, in this order.
func TestTheOraclesArrowsPointDown(t *testing.T) {
	order := []string{"invariants", "invariants/scheduler/history", "invariants/scheduler/config", "invariants/scheduler/model",
		"invariants/scheduler/observe", "invariants/scheduler/promises", "invariants/scheduler/rule", "invariants/scheduler/policies",
		"invariants/scheduler/workflows", "invariants/scheduler/replay", "invariants/scheduler/judge"}
	_, list := sources(t)
	for _, s := range list {
		if s.room != "invariants" {
			continue
		}
		at := slices.Index(order, filepath.Dir(s.path))
		assert.NotEqual(t, -1, at, "%s has no place in the order", s.path)
		for _, path := range imports(s.file) {
			rest, _ := strings.CutPrefix(path, module)
			assert.LessOrEqual(t, slices.Index(order, rest), at, "%s imports %s", s.path, rest)
		}
	}
}

// The reader of YAML could serve any project.
func TestStrictYAMLStandsAlone(t *testing.T) {
	_, list := sources(t)
	for _, s := range list {
		if filepath.Dir(s.path) != "scenarios/strictyaml" || s.test {
			continue
		}
		for _, path := range imports(s.file) {
			if rest, ours := strings.CutPrefix(path, module); ours {
				assert.Equal(t, "faults/suggest", rest, s.path)
			}
		}
	}
}

// The clock and the source of randomness are given to engine, sim and faults, never taken.
func TestNoClockAndNoChanceOfTheirOwn(t *testing.T) {
	forbidden := map[string][]string{
		"time":         {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		"math/rand":    nil, // nil is all of it
		"math/rand/v2": nil,
		"crypto/rand":  nil,
		"hash/maphash": nil,
	}
	exempt := map[string]string{
		"sim/world.go time":            "in the bubble the standard library's time is the virtual time",
		"sim/clock.go time":            "the same: here it becomes a clock",
		"sim/watchdog.go time":         "it looks from outside of the bubble, at the real time",
		"sim/redis_process.go time":    "it starts a server outside of the bubble, at the real time",
		"engine/config.go crypto/rand": "production's source, for a caller who gives none",
	}
	used := map[string]bool{}
	fset, list := sources(t)
	for _, s := range list {
		if s.test || !slices.Contains([]string{"engine", "sim", "faults"}, s.room) {
			continue
		}
		for _, use := range uses(s.file, forbidden) {
			key := s.path + " " + use.path
			if _, ok := exempt[key]; ok {
				used[key] = true
				continue
			}
			assert.Fail(t, fmt.Sprintf("%s: %s is neither the plan's nor the caller's", fset.Position(use.pos), use.name))
		}
	}
	for key := range exempt {
		assert.True(t, used[key], "%s is exempt and does not need it", key)
	}
}

// The program gives its engine no chance of its own, so that it draws from crypto/rand.
func TestTheSchedulerDrawsByCryptoRand(t *testing.T) {
	_, list := sources(t)
	for _, s := range list {
		if s.test || !strings.HasPrefix(s.path, "cmd/scheduler/") || s.path == "cmd/scheduler/execute.go" { // which plays a worker
			continue
		}
		for _, path := range imports(s.file) {
			assert.False(t, strings.HasPrefix(path, "math/rand"), "%s imports %s", s.path, path)
		}
	}
}

type use struct {
	path, name string
	pos        token.Pos
}

// uses finds where f uses what is forbidden: names of a package, or any of it.
func uses(f *ast.File, forbidden map[string][]string) []use {
	local := map[string]string{} // the name of a package in f, to its path
	var found []use
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		names, bad := forbidden[path]
		switch {
		case !bad:
		case names == nil:
			found = append(found, use{path, path, spec.Pos()})
		case spec.Name != nil && spec.Name.Name == ".":
			found = append(found, use{path, path + " without its name", spec.Pos()})
		case spec.Name != nil:
			local[spec.Name.Name] = path
		default:
			local[path[strings.LastIndexByte(path, '/')+1:]] = path
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && local[x.Name] != "" && slices.Contains(forbidden[local[x.Name]], sel.Sel.Name) {
			found = append(found, use{local[x.Name], x.Name + "." + sel.Sel.Name, sel.Pos()})
		}
		return true
	})
	return found
}

func TestUsesAreFound(t *testing.T) {
	forbidden := map[string][]string{"time": {"Now"}, "math/rand": nil}
	for text, want := range map[string][]string{
		`import "time"; var x = time.Second`:                  nil,
		`import "time"; var x = time.Now()`:                   {"time.Now"},
		`import "time"; var x = time.Now`:                     {"time.Now"},
		`import clock "time"; func f() { _ = clock.Now() }`:   {"clock.Now"},
		`import . "time"; var x = Now()`:                      {"time without its name"},
		`import "math/rand"`:                                  {"math/rand"},
		`import r "math/rand"`:                                {"math/rand"},
		`type T struct{}; func (T) Now() {}; var x = T{}.Now`: nil,
		`import "time"; type T struct{ time time.Time }`:      nil,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+text, parser.SkipObjectResolution)
		require.NoError(t, err)
		var names []string
		for _, u := range uses(f, forbidden) {
			names = append(names, u.name)
		}
		assert.Equal(t, want, names, text)
	}
}

// Prometheus's own packages take as long to compile as half of all the rest: only the program that evaluates rules has
// them, and neither wavetank nor scheduler.
func TestOnlyWhoEvaluatesRulesBuildsPrometheus(t *testing.T) {
	_, list := sources(t)
	used := map[string]bool{}
	for _, s := range list {
		for _, path := range imports(s.file) {
			if strings.HasPrefix(path, "github.com/prometheus/prometheus/") || path == module+"scenarios/alerts" {
				if !s.test {
					used[filepath.Dir(s.path)] = true
				}
			}
		}
	}
	assert.Equal(t, map[string]bool{"scenarios/alerts": true, "cmd/wavetank-alerts": true}, used)
}
