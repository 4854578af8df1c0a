package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Cause is what the violation of an invariant depends on.
type Cause struct {
	Invariant string        `json:"invariant"`
	Job       string        `json:"job,omitempty"`
	Step      int           `json:"step"`
	At        time.Duration `json:"at_ns"`
	Message   string        `json:"message"`
	Also      []string      `json:"also,omitempty"` // the other invariants whose promises the same run breaks

	Tried     []Tried   `json:"tried"`                      // each change to the plan, alone
	Untried   []string  `json:"untried,omitempty"`          // strikes and settings without which, alone, the plan is not valid
	Together  []string  `json:"together,omitempty"`         // strikes, or strikes and settings: the violation needs none of them in particular, but at least one
	Apart     Outcome   `json:"apart,omitzero"`             // what else happens without those
	Jointly   []Missing `json:"jointly,omitempty"`          // a minimal set of parts of the engine that prevent it together; only if no part alone does
	Joined    Outcome   `json:"joined,omitzero"`            // what else happens with those
	Undivided bool      `json:"undivided,omitempty"`        // the preset hardened prevents it and no part of that alone does, but the steps do not suffice to find the parts that do together
	Hardened  Standing  `json:"hardened,omitempty"`         // what the same plan does under the preset hardened; "" if the plan has that preset, is not valid under it, or the result is not known
	Beside    Outcome   `json:"beside,omitzero"`            // what else happens under it
	Nearest   *Nearest  `json:"nearest,omitempty"`          // nil if it comes with each change
	NoReturn  *NoReturn `json:"no_return,omitempty"`        // nil if it is not known
	Other     *Build    `json:"other_build,omitempty"`      // nil if none was asked for
	Path      []Point   `json:"path"`                       // how it came about, in at most six sentences
	Runs      int       `json:"runs"`                       // how many runs this took, besides the plan's own to its end
	Steps     int       `json:"steps"`                      // of all these runs
	Unready   []string  `json:"remedies_unknown,omitempty"` // parts of the engine whose effect is not known, since the steps do not suffice
	Unknown   []string  `json:"unknown,omitempty"`          // changes whose effect is not known: the steps do not suffice, the run does not end in its time, or a setting at its default leaves nothing that provides for the invariant
}

// What says what a change applies to.
type What string

// What can be changed.
const (
	Strike  What = "strike"  // a fault of the plan, removed
	Setting What = "setting" // a setting of the plan, reset to its default
	Remedy  What = "remedy"  // a part of the engine that the plan lacks, set as in the preset hardened
)

// Missing is a part of the engine that the plan lacks.
type Missing struct {
	Set   string `json:"set"`             // key=value as in the preset hardened
	Means string `json:"means,omitempty"` // what holds without it, if it serves this invariant
}

// Tried is a change to the plan, and its effect.
type Tried struct {
	What    What   `json:"what"`
	Says    string `json:"says"`              // the strike, or key=value as in the plan
	Did     string `json:"did,omitempty"`     // what the strike did in the plan's own run, if it happened
	Means   string `json:"means,omitempty"`   // what a strike of that kind does, or what holds without that part of the engine, if it serves this invariant
	Aside   string `json:"aside,omitempty"`   // what holds without that part of the engine, which serves another invariant: one that the run breaks, too, or that of a setting of the plan
	Instead string `json:"instead,omitempty"` // key=value as it was tried; empty for a strike and for a setting of a single job, which are removed
	Needed  bool   `json:"needed"`            // with this change the violation does not come, nor for a job for which the plan's own run has none; for a Remedy, the invariant is also judged, or the Remedy serves it and provides for it
	// Otherwise is when the violation comes without a strike by which it came: one on an operation that it
	// depends on.
	Otherwise time.Duration `json:"otherwise_ns,omitempty"`

	Shuffled bool `json:"shuffled,omitempty"` // with it the violation does not come in this order of the steps, but does in another

	PartsAt int `json:"parts_at"` // the first step that differs from the plan's own run up to the violation; 0 if none does
	Outcome
}

// Outcome is what else happens with a change that prevents the violation.
type Outcome struct {
	Idle   bool     `json:"idle,omitempty"`   // the invariant has nothing to judge, so it does not hold either
	Breaks []string `json:"breaks,omitempty"` // other invariants, which the plan's own run does not break, or only outside their promises
	Beyond []string `json:"beyond,omitempty"` // invariants that break outside their promises, and do not in the plan's own run
	Still  []string `json:"still,omitempty"`  // invariants that break, and that the plan's own run also breaks, or does not judge because one that they depend on is broken
	Jobs   []string `json:"jobs,omitempty"`   // jobs that do not settle, or fail, and do well in the plan's own run

	Same      string   `json:"same,omitempty"`      // what happens to the violation's job as in the plan's own run, such as ending TIMEOUT
	Elsewhere []string `json:"elsewhere,omitempty"` // other jobs for which the invariant breaks, and does not in the plan's own run
	Others    []string `json:"others,omitempty"`    // other jobs for which it also breaks in the plan's own run
	Unjudged  []string `json:"unjudged,omitempty"`  // invariants that the plan's own run breaks, and that have nothing to judge
}

// Clean says whether the invariant holds, and nothing else goes wrong.
func (o *Outcome) Clean() bool { return o.wrong() == 0 }

// wrong counts what goes wrong. A lack of anything to judge counts less than the rest.
func (o *Outcome) wrong() int {
	n := 2 * (len(o.Breaks) + len(o.Beyond) + len(o.Still) + len(o.Jobs) + len(o.Elsewhere) + len(o.Others))
	if o.Idle {
		n++
	}
	if o.Same != "" {
		n++
	}
	return n
}

func worseLast(a, b Tried) int { return a.wrong() - b.wrong() }

// Circumstance says whether the change is to the world or the workload, not to a strike or to what a preset
// sets.
func (t *Tried) Circumstance() bool {
	name := plans.NameOf(t.Says)
	return t.What == Setting && name != "preset" && !strings.HasPrefix(name, "engine.") && !slices.Contains(plans.OfServers, name)
}

// Standing is the status of an invariant in a run.
type Standing string

// The standings of an invariant.
const (
	Holds  Standing = "holds"
	Breaks Standing = "breaks"
	Beyond Standing = "breaks outside of its promise"
	Idle   Standing = "not exercised"
)

// Nearest is the run without the violation that differs from the plan's own by one change and in which least
// else goes wrong. Of several it is the one with the part of the engine that serves the invariant, or else
// the one that stays equal the longest. If no step differs, the runs differ only in what leaves no event,
// such as a metric.
type Nearest struct {
	Tried
	Parting
	Then *Parting `json:"then,omitempty"` // if they part in a step of no job on the path: where they first part in a step of one
}

// Parting is the place where two runs differ.
type Parting struct {
	Job   string `json:"job,omitempty"` // the job whose events these are; "" is all
	Own   *Point `json:"own"`           // the plan's own event; nil if its run has ended
	Other *Point `json:"other"`         // the nearest run's event; nil likewise
}

// Over stands for a missing event.
func (p *Parting) Over() string {
	if p.Job != "" {
		return "nothing more of " + p.Job
	}
	return "the run is over"
}

// Point is something that happens at a step.
type Point struct {
	Step      int           `json:"step"`
	At        time.Duration `json:"at_ns"`
	Operation string        `json:"operation,omitempty"` // the phase of the step's operation; in a path only if the violation depends on it
	Says      string        `json:"says"`
}

// NoReturn is the first step from which a violation comes in every order that was tried. Up to the step, the
// order is the run's own. The plan's faults strike in each.
type NoReturn struct {
	Step   int `json:"step"`   // 0 if it comes in every order from the start
	Orders int `json:"orders"` // how many were tried from each step
	Before int `json:"before"` // in how many of them it comes from the step before; for Step 0 it is Orders

	Says string `json:"says,omitempty"` // what happens at Step; "" if that is not known

	Never bool `json:"never,omitempty"` // there is none before the violation, which is at Step
}

// Decides has its step as the only element, if that is between the start and the violation.
func (n *NoReturn) Decides() []int {
	if n == nil || n.Step == 0 || n.Never {
		return nil
	}
	return []int{n.Step}
}

// String says where it is. It is empty if it is not known. It is also empty if it is the start, since the
// violation then does not depend on the order.
func (n *NoReturn) String() string {
	if n == nil || n.Step == 0 {
		return ""
	}
	says := ""
	if n.Says != "" {
		says = " (" + n.Says + ")"
	}
	return fmt.Sprintf("The order of the steps matters. The point of no return is step %d%s: from there on the violation came in each of %d orders that were tried, and from the step before in %d of %d.", n.Step, says, n.Orders, n.Before, n.Orders)
}

// Build is the same plan in another build of wavetank.
type Build struct {
	Name     string   `json:"name"`               // as in its result
	Standing Standing `json:"standing,omitempty"` // the invariant's; "" if it is not known
	Unknown  string   `json:"unknown,omitempty"`  // why it is not known
	PartsAt  int      `json:"parts_at"`           // the first event that differs from the plan's own run; 0 if none does
	Parting
}

// Says describes the invariant's status in that build.
func (b *Build) Says(invariant string) string {
	if b.Standing == "" {
		return fmt.Sprintf("What %s comes to in build %s is not known: %s", invariant, b.Name, b.Unknown)
	}
	if b.Standing == Idle {
		return fmt.Sprintf("In build %s, nothing happens that %s judges", b.Name, invariant)
	}
	does := map[Standing]string{Holds: "holds", Breaks: "breaks, too", Beyond: "breaks, too, outside of its promise"}
	return fmt.Sprintf("In build %s, %s %s", b.Name, invariant, does[b.Standing])
}

// Found says whether anything was found on which the violation depends.
func (c *Cause) Found() bool {
	if c.Other != nil && c.Other.Standing == Holds {
		return true
	}
	return len(c.Together)+len(c.Jointly) > 0 || len(c.Needed(Strike, Setting, Remedy)) > 0
}

// Needed lists the changes of these kinds that prevent the violation.
func (c *Cause) Needed(kinds ...What) (list []Tried) {
	for _, t := range c.Tried {
		if t.Needed && slices.Contains(kinds, t.What) {
			list = append(list, t)
		}
	}
	return list
}

// Remedies lists the parts of the engine that prevent the violation, those with which nothing else goes wrong
// first.
func (c *Cause) Remedies() []Tried {
	list := c.Needed(Remedy)
	slices.SortStableFunc(list, worseLast)
	return list
}

// Blamed lists the strikes, and the settings of the engine and the servers, without which the violation does
// not come.
func (c *Cause) Blamed() []Tried {
	return slices.DeleteFunc(c.Needed(Strike, Setting), func(t Tried) bool { return t.Circumstance() })
}

// Circumstances lists the settings of the world and the workload without which the violation does not come.
func (c *Cause) Circumstances() []Tried {
	return slices.DeleteFunc(c.Needed(Setting), func(t Tried) bool { return !t.Circumstance() })
}

// Unneeded lists the strikes and settings without which the violation comes all the same, except those of
// Together.
func (c *Cause) Unneeded() (list []Tried) {
	for _, t := range c.Tried {
		if !t.Needed && t.What != Remedy && !slices.Contains(c.Together, t.Says) {
			list = append(list, t)
		}
	}
	return list
}

// Shuffled says whether, with some change, the violation comes only in another order of the steps.
func (c *Cause) Shuffled() bool {
	return slices.ContainsFunc(c.Tried, func(t Tried) bool { return t.Shuffled })
}

// Operations lists the operations on the path on which the violation depends, in order of name, each once.
func (c *Cause) Operations() (list []string) {
	for _, at := range c.Path {
		if at.Operation != "" {
			list = append(list, at.Operation)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
