package plans

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// planFile describes the file format to package strictyaml.
var planFile = strictyaml.Kind{What: "a plan", Has: "a name: `wavetank explain calm` shows a whole one", Version: PlanVersion}

// The presets.
const (
	PresetDocumented = "documented"
	PresetHardened   = "hardened"
)

// Load reads a plan: the named scenario, or else the file at that path; "-" is standard input. An error in
// the plan's content is a [*strictyaml.Error].
func Load(nameOrFile string) (*Plan, error) {
	if strictyaml.FromStandardInput(nameOrFile) {
		data, err := strictyaml.ReadAll("standard input", os.Stdin)
		if err != nil {
			return nil, err
		}
		return Parse("standard input", data)
	}
	if data, err := files.ReadFile(nameOrFile + ".yaml"); err == nil {
		return Parse(nameOrFile+".yaml", data)
	}
	data, err := readPlan(nameOrFile)
	if err != nil {
		return nil, err
	}
	return Parse(nameOrFile, data)
}

func readPlan(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		hint := suggest.Hint(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Names())
		if path == "" || filepath.Base(path) == path && filepath.Ext(path) == "" {
			return nil, &strictyaml.Error{Message: fmt.Sprintf("unknown scenario %q", path), Remedy: "`wavetank list scenarios` names them, and a plan of your own is given by its file's path" + hint}
		}
		return nil, &strictyaml.Error{File: path, Message: "there is no such file", Remedy: "give a plan's file, or a scenario that `wavetank list scenarios` names" + hint}
	}
	const give = "a plan's file, or - to read standard input"
	switch {
	case err == nil && info.IsDir():
		return nil, &strictyaml.Error{File: path, Message: "this is a directory", Remedy: "give the plan.yaml in it, or another plan's file"}
	case err == nil && !info.Mode().IsRegular(): // it is read again for a replay
		return nil, &strictyaml.Error{File: path, Message: "this is not a regular file", Remedy: "give " + give}
	}
	return strictyaml.ReadFile(path, give)
}

// Parse parses a plan's text strictly and validates it. The text may also be that of a finding of the ledger,
// which holds a plan. name is the file's name in errors.
func Parse(name string, data []byte) (*Plan, error) {
	var result struct{ Verdict, Digest string }
	if json.Unmarshal(data, &result) == nil && result.Verdict != "" && result.Digest != "" {
		return nil, &strictyaml.Error{File: name, Message: "this is the result of a run, not a plan", Remedy: "give the plan.yaml beside it"}
	}
	doc, err := planFile.Parse(name, data)
	if err != nil {
		return nil, err
	}
	if doc.HasKey("ledger") {
		var finding struct {
			Plan strictyaml.Node `yaml:"plan"`
		}
		if err := doc.DecodeKey("plan", &finding); err != nil {
			return nil, err
		}
		if finding.Plan.Given() {
			return ParsePart(finding.Plan)
		}
	}
	return parse(doc)
}

// ParsePart parses a plan that is part of another document.
func ParsePart(part strictyaml.Node) (*Plan, error) {
	doc, err := part.Document(planFile)
	if err != nil {
		return nil, err
	}
	return parse(doc)
}

func parse(doc *strictyaml.Document) (*Plan, error) {
	p := Defaults()
	preset := doc.DecodeKey("preset", p) // the meaning of other keys depends on it
	p.TakePreset(p.Preset)
	if doc.HasKey("kernel") {
		p.Kernel.Default = kernel.Allow
	}
	if err := cmp.Or(doc.Decode(p), preset); err != nil {
		return nil, alsoInvalid(doc, p, err)
	}
	if !doc.Given("expect.violates") && !doc.Given("expect.sometimes") && !doc.Given("expect.judged") {
		p.Expect.own(p.Preset, p.Preset)
	}
	if !doc.Given("schedule.steps_max") {
		p.Schedule.StepsMax = StepsMaxDefault(p.Workload.Jobs)
	}
	for _, s := range p.Settings() {
		if doc.Given(s.Name) {
			p.pin(s)
		}
	}
	if err := p.Validate(); err != nil {
		return nil, doc.Locate(err)
	}
	if e := CheckStrikes(p); e != nil {
		return nil, doc.Locate(e)
	}
	return p, nil
}

// partOfPath matches the part of a plan that a key is in: one fault, or a section.
var partOfPath = regexp.MustCompile(`^[^.\[]*(\[\d+\])?`)

// alsoInvalid adds to the parts of a plan that cannot be read the errors in the rest of it, except those that
// may be consequences.
func alsoInvalid(doc *strictyaml.Document, p *Plan, err error) error {
	var unread, wrong *strictyaml.Error
	if !errors.As(err, &unread) {
		return err
	}
	part := func(e *strictyaml.Error) string { return partOfPath.FindString(e.Path) }
	parts := map[string]bool{}
	for _, e := range append([]*strictyaml.Error{unread}, unread.Also...) {
		parts[part(e)] = true
	}
	if parts["preset"] { // the meaning of everything depends on it
		return err
	}
	world := parts["engine"] || parts["kernel"] || parts["topology"] || parts["workload"]
	if !errors.As(doc.Locate(p.Validate()), &wrong) {
		return err
	}
	all := []*strictyaml.Error{unread}
	for _, e := range append([]*strictyaml.Error{wrong}, wrong.Also...) {
		inAnyWorld := part(e) == "expect" || strings.HasSuffix(e.Path, ".do")
		if e.Line > 0 && !parts[part(e)] && (inAnyWorld || !world) {
			one := *e
			one.Also = nil
			all = append(all, &one)
		}
	}
	return strictyaml.Together(all...)
}

// Marshal writes p in the form that Parse reads: always name, preset, seed and version, and otherwise what
// differs from the defaults and the preset. If p is valid, Parse returns an equal plan.
func Marshal(p *Plan) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return strictyaml.Marshal(p, p.base(), p.pinned), nil
}
