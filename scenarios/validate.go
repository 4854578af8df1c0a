package scenarios

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/faults/suggest"
)

const (
	nameLengthMax  = 64
	submissionsMax = 8760 * time.Hour // the last submission comes within a year
)

var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Validate returns the first problem of p as a [*PlanError], or nil. A plan from Load or Parse is
// valid; one that was built or changed in code may not be.
func (p *Plan) Validate() error {
	for _, check := range []func(*Plan) *PlanError{
		checkVersion, checkName, checkTimes, checkTriage, checkRanges, checkWorkload, checkEngine, checkKernel, checkOutput, checkFaults, checkAbout, checkExpect,
	} {
		if e := check(p); e != nil {
			return e
		}
	}
	return nil
}

func checkVersion(p *Plan) *PlanError {
	if p.Version == PlanVersion {
		return nil
	}
	remedy := "use the build that wrote it"
	if p.Version < PlanVersion {
		remedy = "`wavetank list settings` names its keys"
	}
	return &PlanError{Path: "version", Message: fmt.Sprintf("the plan's format is version %d", p.Version), Remedy: fmt.Sprintf("this build reads version %d: %s", PlanVersion, remedy)}
}

func checkName(p *Plan) *PlanError {
	switch {
	case p.Name == "":
		return &PlanError{Path: "name", Message: "the plan has no name", Remedy: "add name: with words such as publish-failure"}
	case len(p.Name) > nameLengthMax || !kebab.MatchString(p.Name):
		return &PlanError{Path: "name", Message: fmt.Sprintf("the name %.80q is not in kebab-case", p.Name), Remedy: fmt.Sprintf("use small letters, digits and single dashes, at most %d", nameLengthMax)}
	case strings.ContainsFunc(p.Story, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.TrimSpace(p.Story) != p.Story || strings.ToValidUTF8(p.Story, "") != p.Story:
		return &PlanError{Path: "story", Message: "the story is not one line of text", Remedy: "write it as one sentence or two"}
	}
	return nil
}

// checkRanges checks every scalar of the plan by its tags.
func checkRanges(p *Plan) *PlanError {
	return checkStruct("", reflect.ValueOf(p).Elem())
}

func checkStruct(path string, v reflect.Value) *PlanError {
	for _, f := range fieldsOf(v.Type()) {
		if e := checkValue(join(path, f.name), v.Field(f.index), f); e != nil {
			return e
		}
	}
	return nil
}

func checkValue(path string, v reflect.Value, f field) *PlanError {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return checkValue(path, v.Elem(), f)
	case reflect.Struct:
		return checkStruct(path, v)
	case reflect.Slice:
		for i := range v.Len() {
			if e := checkValue(fmt.Sprintf("%s[%d]", path, i), v.Index(i), field{tag: elementTag(f.tag)}); e != nil {
				return e
			}
		}
		return nil
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			if e := checkValue(fmt.Sprintf("%s.%d", path, key.Int()), v.MapIndex(key), field{tag: elementTag(f.tag)}); e != nil {
				return e
			}
		}
		return nil
	default:
		if f.optional && v.IsZero() {
			return nil
		}
		return checkRange(path, v, f.tag)
	}
}

func checkWorkload(p *Plan) *PlanError {
	w := p.Workload
	if last := time.Duration(w.Jobs-1) * w.Every; last > submissionsMax {
		return &PlanError{Path: "workload.every", Message: fmt.Sprintf("the last of %d jobs would be submitted after %s", w.Jobs, durationText(last)), Remedy: fmt.Sprintf("let them all come within %s", durationText(submissionsMax))}
	}
	if e := checkFailing(p); e != nil {
		return e
	}
	if e := checkPerJob(p); e != nil {
		return e
	}
	if e := checkRuns(p); e != nil {
		return e
	}
	return checkRoutes(p)
}

func checkEngine(p *Plan) *PlanError {
	e := p.Engine
	if e.BackoffBase > e.BackoffMax {
		return &PlanError{Path: "engine.backoff_base", Message: fmt.Sprintf("engine.backoff_base is %s, longer than engine.backoff_max", durationText(e.BackoffBase)), Remedy: "give at most " + durationText(e.BackoffMax)}
	}
	if e.Policy.CircuitCloseAfter > e.Policy.CircuitHalfOpenMax {
		return &PlanError{Path: "engine.policy.circuit_close_after", Message: "engine.policy.circuit_close_after is more than engine.policy.circuit_half_open_max: the circuit would never close", Remedy: fmt.Sprintf("give at most %d", e.Policy.CircuitHalfOpenMax)}
	}
	if _, err := e.TopicTimeouts.Parse(); err != nil {
		return &PlanError{Path: "engine.topic_timeouts", Message: fmt.Sprintf("engine.topic_timeouts is %.80q", e.TopicTimeouts), Remedy: "give topics, each once, with a duration from 1s on, as in job.fast=20s,job.slow=10m"}
	}
	return nil
}

func checkFaults(p *Plan) *PlanError {
	world := p.faultWorld()
	for i, f := range p.Faults {
		if bad := f.Validate(world); bad != nil {
			return &PlanError{Path: fmt.Sprintf("faults[%d].%s", i, bad.Field), Message: bad.Message, Remedy: bad.Remedy}
		}
	}
	return nil
}

// checkStrikes refuses a fault that would never take effect because one before it strikes the same
// operation. That is a slip of whoever writes a plan; [Plan.Validate] lets drawn plans have it.
func checkStrikes(p *Plan) *PlanError {
	for i, f := range p.Faults {
		for j, earlier := range p.Faults[:i] {
			if strikeTogether(earlier, f) {
				field := "on"
				if f.After != nil {
					field = "after"
				}
				return &PlanError{Path: fmt.Sprintf("faults[%d].%s", i, field), Message: fmt.Sprintf("faults[%d] strikes what faults[%d] strikes already", i, j), Remedy: "give another occurrence"}
			}
		}
	}
	return nil
}

// strikeTogether says whether a and b select the same operations, and strike one of them both.
func strikeTogether(a, b faults.Fault) bool {
	same := func(a, b *faults.Match) bool {
		return a != nil && b != nil && a.Job == b.Job && a.Phase == b.Phase && a.Node == b.Node
	}
	switch {
	case a.Rate > 0 || b.Rate > 0:
		return false
	case same(a.On, b.On):
		firstA, firstB := max(1, a.On.Occurrence), max(1, b.On.Occurrence)
		return firstA < firstB+max(1, b.Times) && firstB < firstA+max(1, a.Times)
	case same(a.After, b.After):
		return max(1, a.After.Occurrence) == max(1, b.After.Occurrence)
	}
	return false
}

func checkAbout(p *Plan) *PlanError {
	for i, n := range p.About {
		path := fmt.Sprintf("about[%d]", i)
		switch {
		case n < 1 || n > p.Workload.Jobs:
			return &PlanError{Path: path, Message: fmt.Sprintf("there is no job %d", n), Remedy: fmt.Sprintf("the workload has jobs 1 to %d", p.Workload.Jobs)}
		case slices.Contains(p.About[:i], n):
			return &PlanError{Path: path, Message: fmt.Sprintf("job %d is there already", n), Remedy: "name each job once"}
		}
	}
	return nil
}

func checkExpect(p *Plan) *PlanError {
	for _, list := range []struct {
		path         string
		names        []string
		known        []string
		others       []string // those that belong under the other key
		not, instead string
	}{
		{"expect.violates", p.Expect.Violates, Violable(), reachable(), "is a situation that runs reach, not a promise to violate", "sometimes"},
		{"expect.sometimes", p.Expect.Sometimes, reachable(), Violable(), "is a promise, not a situation to reach", "violates"},
		{"expect.judged", p.Expect.Judged, Violable(), reachable(), "is a situation that runs reach, and nothing that can be broken", "sometimes"},
	} {
		for i, name := range list.names {
			path := fmt.Sprintf("%s[%d]", list.path, i)
			switch {
			case slices.Contains(list.others, name):
				return &PlanError{Path: path, Message: name + " " + list.not, Remedy: "put it under " + list.instead}
			case !slices.Contains(list.known, name):
				return &PlanError{Path: path, Message: fmt.Sprintf("unknown invariant %q", name), Remedy: "`wavetank list invariants` names them" + suggest.Hint(name, list.known)}
			case slices.Contains(list.names[:i], name):
				return &PlanError{Path: path, Message: fmt.Sprintf("%s is there already", name), Remedy: "name it once"}
			}
		}
	}
	for i, set := range p.Expect.Changed {
		if e := Defaults().Set(set); e != nil {
			return &PlanError{Path: fmt.Sprintf("expect.changed[%d]", i), Message: fmt.Sprintf("%.80q changes no plan", set), Remedy: "write it as --set takes it, as in engine.fence=false, or leave the key out"}
		}
	}
	return nil
}
