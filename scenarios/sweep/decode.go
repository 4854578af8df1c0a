package sweep

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// The keys of a sweep file, and of its parts.
var (
	fileKeys   = []string{"version", "name", "question", "plan", "settings", "axes", "seeds", "first_seed", "metrics", "pareto", "notes"}
	axisKeys   = []string{"setting", "values", "title"}
	paretoKeys = []string{"x", "y"}
)

// Parse reads a sweep's text strictly and validates it. name stands for the file in errors, each of
// which is a [*scenarios.PlanError].
func Parse(name string, data []byte) (*Definition, error) {
	body, err := scenarios.Document(name, "a sweep", "a name", data)
	if err != nil {
		return nil, err
	}
	f := &file{name: name, lines: strings.Split(string(data), "\n")}
	d := f.sweep(body)
	if f.err != nil {
		return nil, f.err
	}
	if err := d.Validate(); err != nil {
		var e *scenarios.PlanError
		if errors.As(err, &e) {
			f.refuse(f.placeOf(e.Path), e.Path, e.Message, e.Remedy)
			return nil, f.err
		}
		return nil, err
	}
	return d, nil
}

// sweep reads the keys in the order in which they need each other.
func (f *file) sweep(body ast.Node) *Definition {
	f.root = f.mapping(body, "a sweep", fileKeys)
	version := DefinitionVersion
	f.integer("version", &version)
	if version != DefinitionVersion {
		f.refuse(f.placeOf("version"), "version", fmt.Sprintf("the sweep's format is version %d", version), fmt.Sprintf("this build reads version %d", DefinitionVersion))
	}
	plan := f.plan()
	if f.err != nil {
		return nil
	}
	f.settings(plan)
	d, err := Over(plan)
	f.pass(f.placeOf("settings"), err)
	if f.err != nil {
		return nil
	}
	d.Name = ""
	f.string("name", &d.Name)
	f.string("question", &d.Question)
	f.axes(plan, d)
	f.integer("seeds", &d.Seeds)
	if node := f.value("first_seed"); node != nil {
		d.FirstSeed, err = strconv.ParseUint(f.scalar(node, "first_seed"), 10, 64)
		if err != nil {
			f.refuse(scenarios.FirstToken(node), "first_seed", "first_seed is not a number from 0 on", "give 1")
		}
	}
	f.strings("metrics", &d.Metrics)
	f.strings("notes", &d.Notes)
	for _, e := range f.mapping(f.value("pareto"), "pareto", paretoKeys) {
		text := f.scalar(e.Value, "pareto")
		if e.Key.GetToken().Value == "x" {
			d.Pareto.X = text
		} else {
			d.Pareto.Y = text
		}
	}
	return d
}

// plan reads the plan that is swept: a scenario's name, a file, or the plan itself.
func (f *file) plan() *scenarios.Plan {
	node := f.value("plan")
	switch n := node.(type) {
	case nil:
		f.refuse(nil, "plan", "the sweep has no plan", "add plan: with a scenario's name, a plan's file, or the plan itself")
		return nil
	case *ast.MappingNode:
		return f.inlinePlan(n)
	}
	name := f.scalar(node, "plan")
	if f.err != nil {
		return nil
	}
	if scenarios.FromStandardInput(name) {
		f.refuse(scenarios.FirstToken(node), "plan", "plan is standard input", "name a scenario or a plan's file")
		return nil
	}
	if _, named := scenarios.Source(name); !named && !filepath.IsAbs(name) && strings.ContainsAny(name, "./") {
		name = filepath.Join(filepath.Dir(f.name), name)
	}
	p, err := scenarios.Load(name)
	f.pass(scenarios.FirstToken(node), err)
	return p
}

// inlinePlan reads the lines of the file that hold the plan; all others are left blank, so that what
// is wrong is found where it stands.
func (f *file) inlinePlan(n *ast.MappingNode) *scenarios.Plan {
	from, end := scenarios.FirstToken(n).Position, len(f.lines)+1
	for _, e := range f.root {
		if line := e.Key.GetToken().Position.Line; line > from.Line {
			end = min(end, line)
		} else if line == from.Line && e.Value != n {
			f.refuse(scenarios.FirstToken(n), "plan", "the plan stands on a line with other keys", "begin its keys on a line of their own")
			return nil
		}
	}
	text := make([]string, len(f.lines))
	copy(text[from.Line-1:end-1], f.lines[from.Line-1:end-1])
	text[from.Line-1] = strings.Repeat(" ", from.Column-1) + string([]rune(text[from.Line-1])[from.Column-1:])
	p, err := scenarios.Parse(f.name, []byte(strings.Join(text, "\n")))
	f.pass(nil, err)
	return p
}

// settings lays the fixed settings over the plan.
func (f *file) settings(plan *scenarios.Plan) {
	node := f.value("settings")
	if node == nil || f.err != nil {
		return
	}
	m, ok := node.(*ast.MappingNode)
	if !ok {
		f.refuse(scenarios.FirstToken(node), "settings", "settings is not a mapping", "give settings and values such as engine.worker_ttl: 20s")
		return
	}
	for _, e := range m.Values {
		name := e.Key.GetToken()
		if text := f.scalar(e.Value, name.Value); f.err == nil {
			f.pass(name, plan.Set(name.Value+"="+text))
		}
	}
	if f.err == nil {
		f.pass(scenarios.FirstToken(node), plan.Validate())
	}
}

func (f *file) axes(plan *scenarios.Plan, d *Definition) {
	for _, node := range f.sequence(f.value("axes"), "axes") {
		var setting, values, title ast.Node
		for _, e := range f.mapping(node, "an axis", axisKeys) {
			switch e.Key.GetToken().Value {
			case "setting":
				setting = e.Value
			case "values":
				values = e.Value
			default:
				title = e.Value
			}
		}
		if setting == nil || values == nil {
			f.refuse(scenarios.FirstToken(node), "axes", "the axis has no "+map[bool]string{true: "setting", false: "values"}[setting == nil], "write {setting: engine.max_dispatch_retries, values: 1..10}")
			return
		}
		name := f.scalar(setting, "setting")
		if d.axis(name) >= 0 {
			f.refuse(scenarios.FirstToken(setting), "axes", name+" is an axis already", "give its values once")
		}
		l := f.listing(values, name)
		if f.err != nil {
			return
		}
		at := scenarios.FirstToken(values)
		if settingOf(name) == nil {
			at = scenarios.FirstToken(setting)
		}
		axis, err := axisOf(plan, name, l)
		f.pass(at, err)
		if title != nil {
			axis.Title = f.scalar(title, "title")
		}
		d.Axes = append(d.Axes, axis)
	}
}

// listing reads an axis's values: a text as --grid takes it, or a list.
func (f *file) listing(node ast.Node, name string) (l listing) {
	nodes := []ast.Node{node}
	if s, ok := node.(*ast.SequenceNode); ok {
		nodes = s.Values
	}
	for _, n := range nodes {
		text := f.scalar(n, "values")
		if f.err != nil {
			return nil
		}
		part, err := list(text)
		if err != nil {
			e := complain(name, err)
			f.refuse(scenarios.FirstToken(n), e.Path, e.Message, e.Remedy)
		}
		l = append(l, part...)
	}
	if len(l) == 0 {
		f.refuse(scenarios.FirstToken(node), name, name+" has no values", "write values such as [1, 2, 5] or 1..10")
	}
	return l
}
