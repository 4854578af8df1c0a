package plans

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios/policyfile"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/visible"
	"github.com/wavetank-sim/wavetank/sim"
)

const (
	NameLengthMax  = 64
	submissionsMax = 8760 * time.Hour // the last submission comes within a year
)

var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Validate returns the errors in p as a [*strictyaml.Error], or nil. A plan from Load or Parse is valid. A
// plan that was built or changed in code may not be.
func (p *Plan) Validate() error {
	var wrong []*strictyaml.Error
	for _, check := range []func(*Plan) *strictyaml.Error{
		checkVersion, checkName, checkTimes, checkTriage, checkRanges, checkWorkload, checkEngine, checkKernel, checkOutput, checkFaults, checkSchedule, checkAbout, checkExpect,
	} {
		wrong = append(wrong, check(p))
	}
	if e := strictyaml.Together(wrong...); e != nil {
		return e
	}
	return nil
}

func checkVersion(p *Plan) *strictyaml.Error { return planFile.CheckVersion(p.Version) }

func checkName(p *Plan) *strictyaml.Error {
	switch {
	case p.Name == "":
		return &strictyaml.Error{Path: "name", Message: "the plan has no name", Remedy: "add name: with words such as publish-failure"}
	case len(p.Name) > NameLengthMax || !kebab.MatchString(p.Name):
		return &strictyaml.Error{Path: "name", Message: fmt.Sprintf("the name %.80q is not in kebab-case", p.Name), Remedy: fmt.Sprintf("use small letters, digits and single dashes, at most %d", NameLengthMax)}
	case strings.ContainsFunc(p.Story, visible.Turns):
		return &strictyaml.Error{Path: "story", Message: "the story has an invisible character that changes the direction of its text", Remedy: "leave U+202A to U+202E, U+2066 to U+2069 and the like out"}
	case strings.ContainsFunc(p.Story, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) }) || strings.TrimSpace(p.Story) != p.Story || strings.ToValidUTF8(p.Story, "") != p.Story:
		return &strictyaml.Error{Path: "story", Message: "the story is not one line of text", Remedy: "write it as one sentence or two"}
	}
	return nil
}

// checkRanges checks every scalar of the plan against its tags.
func checkRanges(p *Plan) *strictyaml.Error { return strictyaml.Check(p) }

func checkTriage(p *Plan) *strictyaml.Error {
	if p.Triage == nil {
		return nil
	}
	return policyfile.CheckTriage("triage", p.Triage)
}

func checkWorkload(p *Plan) *strictyaml.Error {
	w := p.Workload
	if last := time.Duration(w.Jobs-1) * w.Every; last > submissionsMax {
		return &strictyaml.Error{Path: "workload.every", Message: fmt.Sprintf("the last of %d jobs would be submitted after %s", w.Jobs, strictyaml.DurationText(last)), Remedy: fmt.Sprintf("submit all of them within %s", strictyaml.DurationText(submissionsMax))}
	}
	return strictyaml.Together(checkFailing(p), checkPerJob(p), checkRuns(p), checkRoutes(p))
}

func checkEngine(p *Plan) *strictyaml.Error {
	e := p.Engine
	if e.BackoffBase > e.BackoffMax {
		return &strictyaml.Error{Path: "engine.backoff_base", Message: fmt.Sprintf("engine.backoff_base is %s, longer than engine.backoff_max", strictyaml.DurationText(e.BackoffBase)), Remedy: "give at most " + strictyaml.DurationText(e.BackoffMax)}
	}
	if e.Policy.CircuitCloseAfter > e.Policy.CircuitHalfOpenMax {
		return &strictyaml.Error{Path: "engine.policy.circuit_close_after", Message: "engine.policy.circuit_close_after is more than engine.policy.circuit_half_open_max: the circuit would never close", Remedy: fmt.Sprintf("give at most %d", e.Policy.CircuitHalfOpenMax)}
	}
	if _, err := e.TopicTimeouts.Parse(); err != nil {
		return &strictyaml.Error{Path: "engine.topic_timeouts", Message: fmt.Sprintf("engine.topic_timeouts is %.80q", e.TopicTimeouts), Remedy: "give topics, each once, with a duration from 1s on, as in job.fast=20s,job.slow=10m"}
	}
	return nil
}

func checkFaults(p *Plan) *strictyaml.Error {
	world := p.FaultWorld()
	var wrong []*strictyaml.Error
	for i, f := range p.Faults {
		for _, bad := range f.Validate(world) {
			wrong = append(wrong, &strictyaml.Error{Path: fmt.Sprintf("faults[%d].%s", i, bad.Field), Message: bad.Message, Remedy: bad.Remedy})
		}
	}
	return strictyaml.Together(wrong...)
}

func checkSchedule(p *Plan) *strictyaml.Error {
	const path = "schedule.preemptions"
	list, err := sim.ParsePreemptions(p.Schedule.Preemptions)
	if err != nil {
		return &strictyaml.Error{Path: path, Message: fmt.Sprintf("%s is %.80q: %v", path, p.Schedule.Preemptions, err), Remedy: "give rising steps, each with the actor that goes, as in 17=scheduler-2,40=scheduler-1/job-1#2"}
	}
	nodes := p.Nodes()
	for _, one := range list {
		if node, _, _ := strings.Cut(one.To, "/"); !slices.Contains(nodes, node) {
			return &strictyaml.Error{Path: path, Message: fmt.Sprintf("there is no node %.40q", node), Remedy: "the nodes are " + strings.Join(nodes, ", ") + suggest.Hint(node, nodes)}
		}
	}
	return nil
}

// CheckStrikes returns an error for a fault that would never take effect because an earlier one strikes the
// same operation. In a written plan that is a mistake; [Plan.Validate] allows it in drawn plans.
func CheckStrikes(p *Plan) *strictyaml.Error {
	for i, f := range p.Faults {
		for j, earlier := range p.Faults[:i] {
			if strikeTogether(earlier, f) {
				field := "on"
				if f.After != nil {
					field = "after"
				}
				return &strictyaml.Error{Path: fmt.Sprintf("faults[%d].%s", i, field), Message: fmt.Sprintf("faults[%d] strikes the same operation as faults[%d]", i, j), Remedy: "give another occurrence"}
			}
		}
	}
	return nil
}

// strikeTogether says whether a and b select the same operations, and would both strike one of them.
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

func checkAbout(p *Plan) *strictyaml.Error {
	for i, n := range p.About {
		path := fmt.Sprintf("about[%d]", i)
		switch {
		case n < 1 || n > p.Workload.Jobs:
			return &strictyaml.Error{Path: path, Message: fmt.Sprintf("there is no job %d", n), Remedy: fmt.Sprintf("the workload has jobs 1 to %d", p.Workload.Jobs)}
		case slices.Contains(p.About[:i], n):
			return &strictyaml.Error{Path: path, Message: fmt.Sprintf("job %d is listed twice", n), Remedy: "name each job once"}
		}
	}
	return nil
}

func checkExpect(p *Plan) *strictyaml.Error {
	own := "expect." + p.Preset
	if *p.Expect.under(p.Preset) != nil {
		return &strictyaml.Error{Path: own, Message: own + " is given twice: " + p.Preset + " is the plan's own preset", Remedy: "put all of it under " + own}
	}
	if e := checkExpected("expect", &Expected{Violates: p.Expect.Violates, Sometimes: p.Expect.Sometimes, Judged: p.Expect.Judged}); e != nil {
		return e
	}
	for _, preset := range Presets() {
		if named := *p.Expect.under(preset); named != nil {
			if e := checkExpected("expect."+preset, named); e != nil {
				return e
			}
		}
	}
	for i, set := range p.Expect.Changed {
		if e := Defaults().Set(set); e != nil {
			return &strictyaml.Error{Path: fmt.Sprintf("expect.changed[%d]", i), Message: fmt.Sprintf("%.80q changes no plan", set), Remedy: "write it as --set takes it, as in engine.fence=false, or leave the key out"}
		}
	}
	return nil
}

func checkExpected(path string, e *Expected) *strictyaml.Error {
	for _, list := range []struct {
		key          string
		names        []string
		known        []string
		others       []string // invariants that belong under the other key
		not, instead string
	}{
		{"violates", e.Violates, violable(), reachable(), "is a situation, which a run reaches; it is not a promise that a run can violate", "sometimes"},
		{"sometimes", e.Sometimes, reachable(), violable(), "is a promise, not a situation that a run reaches", "violates"},
		{"judged", e.Judged, violable(), reachable(), "is a situation, which a run reaches; it is not an invariant that a run can break", "sometimes"},
	} {
		for i, name := range list.names {
			path := fmt.Sprintf("%s.%s[%d]", path, list.key, i)
			switch {
			case slices.Contains(list.others, name):
				return &strictyaml.Error{Path: path, Message: name + " " + list.not, Remedy: "put it under " + list.instead}
			case !slices.Contains(list.known, name):
				return &strictyaml.Error{Path: path, Message: fmt.Sprintf("unknown invariant %q", name), Remedy: "`wavetank list invariants` names them" + suggest.Hint(name, list.known)}
			case slices.Contains(list.names[:i], name):
				return &strictyaml.Error{Path: path, Message: fmt.Sprintf("%s is listed twice", name), Remedy: "name it once"}
			}
		}
	}
	return nil
}

// Fits says whether the parts of the plan are consistent.
func (p *Plan) Fits() bool {
	for _, check := range []func(*Plan) *strictyaml.Error{checkWorkload, checkEngine, checkKernel, checkOutput, checkFaults, checkSchedule, checkAbout, CheckStrikes} {
		if check(p) != nil {
			return false
		}
	}
	return true
}
