package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/faults/suggest"
)

// Bounds of a file that is read whole: of a plan, or the like. The longest plan that a generator writes is a small
// part of it; what passes them would keep the YAML parser busy for minutes.
const (
	fileBytesMax = 1 << 20
	lineBytesMax = 64 << 10
	depthMax     = 32
)

// The presets.
const (
	PresetDocumented = "documented"
	PresetHardened   = "hardened"
)

// Defaults is the plan that a file's keys are laid over. It has no name.
func Defaults() *Plan {
	p := &Plan{
		Version:  PlanVersion,
		Preset:   PresetHardened,
		Engine:   engine.Hardened(),
		Topology: Topology{Schedulers: 2, Workers: 3, MaxParallel: 4, HeartbeatEvery: 10 * time.Second},
		Kernel:   Kernel{Default: noKernel},
		Workload: Workload{Jobs: 10, Every: 200 * time.Millisecond, Work: 50 * time.Millisecond, Submissions: 1, Tenants: 1, Steps: 3, StepBackoff: 5 * time.Second},
		Then:     Then{Heal: true, SettleWithin: 45 * time.Minute}, // running_timeout, three polls, and a budget of retries
		Seed:     1,
	}
	p.Schedule = Schedule{Strategy: "latency", StepsMax: stepsMaxDefault(p.Workload.Jobs)}
	return p
}

// stepsMaxDefault leaves a job twenty times the steps that it needs when nothing goes wrong.
func stepsMaxDefault(jobs int) int { return max(1_000_000, 1_000*jobs) }

// presetSettings returns the engine settings of a preset.
func presetSettings(preset string) engine.Settings {
	if preset == PresetDocumented {
		return engine.Documented()
	}
	return engine.Hardened()
}

// Load reads a plan: the named scenario, or else the file at that path; "-" is standard input.
// What is wrong with a plan's content is a [*PlanError].
func Load(nameOrFile string) (*Plan, error) {
	if FromStandardInput(nameOrFile) {
		data, err := ReadAll("standard input", os.Stdin)
		if err != nil {
			return nil, err
		}
		return Parse("standard input", data)
	}
	if data, err := plans.ReadFile("plans/" + nameOrFile + ".yaml"); err == nil {
		return Parse(nameOrFile+".yaml", data)
	}
	data, err := readPlan(nameOrFile)
	if err != nil {
		return nil, err
	}
	return Parse(nameOrFile, data)
}

// FromStandardInput says whether [Load] reads that argument from standard input, which it can do
// once.
func FromStandardInput(nameOrFile string) bool {
	return nameOrFile == "-" || nameOrFile == "/dev/stdin"
}

func readPlan(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		hint := suggest.Hint(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Names())
		if path == "" || filepath.Base(path) == path && filepath.Ext(path) == "" {
			return nil, &PlanError{Message: fmt.Sprintf("unknown scenario %q", path), Remedy: "`wavetank list scenarios` names them, and a plan of your own is given by its file's path" + hint}
		}
		return nil, &PlanError{File: path, Message: "there is no such file", Remedy: "give a plan's file, or a scenario that `wavetank list scenarios` names" + hint}
	}
	const give = "a plan's file, or - to read standard input"
	switch {
	case err == nil && info.IsDir():
		return nil, &PlanError{File: path, Message: "this is a directory", Remedy: "give the plan.yaml in it, or another plan's file"}
	case err == nil && !info.Mode().IsRegular(): // it is read again, to be replayed
		return nil, &PlanError{File: path, Message: "this is not a regular file", Remedy: "give " + give}
	}
	return ReadFile(path, give)
}

// ReadFile returns what a file, or a pipe that the shell gives as one, holds, as far as a file that is read whole
// may go. give says, in errors, what to give instead; they are of type [*PlanError].
func ReadFile(path, give string) ([]byte, error) {
	refuse := func(message string) ([]byte, error) {
		return nil, &PlanError{File: path, Message: message, Remedy: "give " + give}
	}
	info, err := os.Stat(path) // before it is opened: to open a named pipe is to wait for its writer
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("there is no such file")
	case err != nil:
		return nil, unreadable(path, err)
	case info.IsDir():
		return refuse("this is a directory")
	case !info.Mode().IsRegular() && path != "/dev/stdin" && !strings.HasPrefix(path, "/dev/fd/"):
		return refuse("this is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	return ReadAll(path, f)
}

// ReadAll returns what r holds, as far as a file that is read whole may go. name stands for it in errors, which
// are of type [*PlanError].
func ReadAll(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, fileBytesMax+1))
	if err != nil {
		return nil, unreadable(name, err)
	}
	return data, nil
}

func unreadable(path string, err error) error {
	remedy := "give a file that can be read"
	if errors.Is(err, fs.ErrPermission) {
		remedy = "check its permissions"
	}
	return &PlanError{File: path, Message: "cannot be read: " + FileReason(err).Error(), Remedy: remedy}
}

// Parse reads a plan's text strictly and validates it. name stands for the file in errors.
func Parse(name string, data []byte) (*Plan, error) {
	p, err := parse(data)
	if err != nil {
		return nil, inFile(name, data, err)
	}
	return p, nil
}

// Document reads the one YAML document of a file that is not a plan, within the same bounds; what
// names the file's kind in errors, such as "a sweep", and has what it needs at least. What is wrong with it is a
// [*PlanError].
func Document(name, what, has string, data []byte) (ast.Node, error) {
	body, err := document(data, what, has)
	if err != nil {
		return nil, inFile(name, data, err)
	}
	return body, nil
}

// inFile gives an error the file, and the place in it that it knows.
func inFile(name string, data []byte, err error) error {
	var at *problem
	var pe *PlanError
	switch {
	case errors.As(err, &at):
		pe = at.PlanError
		pe.Line, pe.Column = at.at.Line, at.at.Column
		if lines := strings.Split(string(data), "\n"); pe.Line >= 1 && pe.Line <= len(lines) {
			pe.Source = strings.TrimRight(lines[pe.Line-1], "\r")
		}
	case !errors.As(err, &pe):
		return err
	}
	pe.File = name
	return pe
}

func parse(data []byte) (*Plan, error) {
	body, err := document(data, "a plan", "a name: `wavetank explain calm` shows a whole one")
	if err != nil {
		return nil, err
	}
	root, ok := body.(*ast.MappingNode)
	if !ok {
		return nil, fail(FirstToken(body), "", "a plan is a mapping of keys", "give keys such as name, workload and faults")
	}
	d := &decoder{what: "a plan", at: map[string]*token.Position{}}
	p := Defaults()
	// First what the meaning of the other keys hangs on: the format and the preset.
	if err := d.only("version", root, p); err != nil {
		return nil, err
	}
	if e := checkVersion(p); e != nil {
		return nil, d.locate(e)
	}
	if err := d.only("preset", root, p); err != nil {
		return nil, err
	}
	p.Engine = presetSettings(p.Preset)
	if slices.ContainsFunc(root.Values, func(entry *ast.MappingValueNode) bool { return entry.Key.GetToken().Value == "kernel" }) {
		p.Kernel.Default = kernel.Allow
	}
	if bad := d.mapping("", root, reflect.ValueOf(p).Elem()); bad != nil {
		return nil, bad
	}
	if d.at["schedule.steps_max"] == nil {
		p.Schedule.StepsMax = stepsMaxDefault(p.Workload.Jobs)
	}
	for _, s := range p.settings() {
		if d.at[s.name] != nil {
			p.pin(s)
		}
	}
	if err := p.Validate(); err != nil {
		return nil, d.locate(err.(*PlanError))
	}
	if e := checkStrikes(p); e != nil {
		return nil, d.locate(e)
	}
	return p, nil
}

// document returns the one document that data holds; has is what it needs at least.
func document(data []byte, what, has string) (ast.Node, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > fileBytesMax:
		return nil, &PlanError{Message: fmt.Sprintf("this is longer than %s can be", what), Remedy: fmt.Sprintf("%s has at most %d KiB", what, fileBytesMax>>10)}
	case !utf8.Valid(data) || bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }):
		return nil, &PlanError{Message: "this is not text", Remedy: what + " is YAML in UTF-8"}
	}
	if line := overlong(data); line > 0 {
		return nil, &problem{&PlanError{Message: "this line is too long, or its brackets nest too deep", Remedy: what + " needs no such line"}, &token.Position{Line: line, Column: 1}}
	}
	file, err := parser.ParseBytes(data, 0)
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax) && syntax.GetToken() != nil:
		return nil, fail(syntax.GetToken(), "", "broken YAML: "+syntax.GetMessage(), "mend the syntax here or just before")
	case err != nil:
		return nil, &PlanError{Message: "broken YAML: " + err.Error(), Remedy: "mend the syntax"}
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch b := doc.Body.(type) {
		case nil:
		case *ast.DirectiveNode:
			return nil, fail(b.GetToken(), "", what+" has no directives", "take the line away")
		default:
			if body != nil {
				return nil, fail(FirstToken(b), "", "a second document begins here", "a file holds "+strings.Replace(what, "a ", "one ", 1))
			}
			body = b
		}
	}
	if body == nil {
		return nil, &PlanError{Message: "this is empty", Remedy: what + " has at least " + has}
	}
	return body, nil
}

// overlong returns the number of the first line that passes a bound, or 0.
func overlong(data []byte) int {
	line, length, depth := 1, 0, 0
	for _, b := range data {
		length++
		switch b {
		case '\n':
			line++
			length = 0
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if length > lineBytesMax || depth > depthMax {
			return line
		}
	}
	return 0
}
