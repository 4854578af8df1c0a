package plans

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Failing is a parsed workload.fail: how the worker of a job fails.
type Failing struct {
	ReasonCode string
	Times      int           // how many of the job's executions fail, those of its replays included
	Committed  bool          // the effect takes place all the same
	Succeeds   time.Duration // the worker reports success after this time; 0 is never
}

// failWords are the numbers that read better as words.
var failWords = map[string]int{"once": 1, "twice": 2}

// ParseFailing parses a value of workload.fail. The error says how to mend it.
func ParseFailing(text string) (f Failing, err error) {
	parts := strings.Split(text, ";")
	f = Failing{ReasonCode: strings.TrimSpace(parts[0]), Times: 1}
	if !slices.Contains(dlq.ReasonCodes(), f.ReasonCode) {
		return f, fmt.Errorf("begin with a reason code, one of %s", strings.Join(dlq.ReasonCodes(), ", "))
	}
	said := map[string]string{} // by the subject of each part
	for _, part := range parts[1:] {
		part = strings.TrimSpace(part)
		about := part
		count, times := strings.CutSuffix(part, " times")
		after, succeeds := strings.CutPrefix(part, "succeeds after ")
		switch {
		case part == "committed":
			f.Committed = true
		case failWords[part] > 0:
			f.Times, about = failWords[part], "times"
		case times:
			f.Times, err = strconv.Atoi(count)
			about = "times"
		case succeeds:
			f.Succeeds, err = time.ParseDuration(after)
			about = "succeeds"
		default:
			err = fmt.Errorf("it is not known")
		}
		if err != nil || f.Times < 1 || f.Succeeds < 0 || succeeds && f.Succeeds == 0 {
			return f, fmt.Errorf("after the reason code write, each after a semicolon, once, twice or 3 times; committed; succeeds after 5s; not %q", part)
		}
		switch before, twice := said[about]; {
		case twice && before == part:
			return f, fmt.Errorf("say %q once", part)
		case twice:
			return f, fmt.Errorf("say %q or %q, not both", before, part)
		}
		said[about] = part
	}
	return f, nil
}

func checkFailing(p *Plan) *strictyaml.Error {
	for _, n := range slices.Sorted(maps.Keys(p.Workload.Fail)) {
		if _, err := ParseFailing(p.Workload.Fail[n]); err != nil {
			return &strictyaml.Error{Path: fmt.Sprintf("workload.fail.%d", n), Message: fmt.Sprintf("workload.fail.%d is %.80q", n, p.Workload.Fail[n]), Remedy: err.Error()}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(p.Workload.OperatorOf)) {
		if strings.TrimSpace(p.Workload.OperatorOf[n]) == "" {
			path := fmt.Sprintf("workload.operator_of.%d", n)
			return &strictyaml.Error{Path: path, Message: path + " is empty", Remedy: "name a group, such as interns, or leave the key out"}
		}
	}
	return nil
}

// What the operator says about dead letters.
const (
	Mended = `{"mended":true}` // the payload
	Denied = "not to be done"  // the reason
)

// ReplayErrand is a decision that a plan wants from the operator, on the dead letters of some jobs.
type ReplayErrand struct {
	Key       string                // of Workload
	After     map[int]time.Duration // by job: how long after its submission
	Occasions []string              // the replay statuses in which a triaged dead letter may wait for the decision
	Ends      string                // the replay status after the decision
	Missed    string                // the message if the dead letter of %s never had one of those statuses
}

// ReplayErrands lists the operator's errands.
func (w *Workload) ReplayErrands() []ReplayErrand {
	left := "the dead letter of %s is never left to a person"
	return []ReplayErrand{
		{"approve_replay", w.ApproveReplay, []string{dlq.AwaitingApproval}, dlq.Scheduled, "the replay of %s never waits for an approval"},
		{"mend_replay", w.MendReplay, []string{dlq.Quarantined}, dlq.Scheduled, "the dead letter of %s is never quarantined"},
		{"ask_replay", w.AskReplay, []string{dlq.PendingReview}, dlq.Scheduled, left},
		{"deny_replay", w.DenyReplay, []string{dlq.PendingReview, dlq.AwaitingApproval, dlq.Quarantined}, dlq.Denied, left},
	}
}

// HasOperator says whether the operator has anything to do.
func (w *Workload) HasOperator() bool {
	return slices.ContainsFunc(w.ReplayErrands(), func(x ReplayErrand) bool { return len(x.After) > 0 })
}

// Operator is the person who decides on the replay of a job. If the plan does not say otherwise, that person
// is in every group that the triage policy names.
func (p *Plan) Operator(job int) dlq.Person {
	who := dlq.Person{Name: actors.OperatorName, Groups: []string{p.Workload.OperatorOf[job]}}
	if who.Groups[0] == "" && p.Triage != nil {
		for _, r := range p.Triage.Rules {
			who.Groups = append(who.Groups, r.ApproverGroup, r.Owner)
		}
	}
	return who
}
