package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Cause is what the violation of an invariant hangs on.
type Cause struct {
	Invariant string        `json:"invariant"`
	Job       string        `json:"job,omitempty"`
	Step      int           `json:"step"`
	At        time.Duration `json:"at_ns"`
	Message   string        `json:"message"`
	Also      []string      `json:"also,omitempty"` // the other invariants whose promise the same run breaks

	Tried     []Tried   `json:"tried"`                      // each change to the plan, alone
	Untried   []string  `json:"untried,omitempty"`          // strikes and settings without which, alone, the plan is none
	Together  []string  `json:"together,omitempty"`         // strikes, or strikes and settings, none of which is necessary, but all at once
	Apart     Outcome   `json:"apart,omitzero"`             // what else comes without those
	Jointly   []Missing `json:"jointly,omitempty"`          // parts of the engine, with all of which at once it does not come, and with no fewer; only where none does alone
	Joined    Outcome   `json:"joined,omitzero"`            // what else comes with those
	Undivided bool      `json:"undivided,omitempty"`        // the preset hardened prevents it, no part of that does alone, and which do at once is not known: the steps do not suffice
	Hardened  Standing  `json:"hardened,omitempty"`         // what the same plan does under the preset hardened; "" if it is that already, is none under it, or if that is not known
	Beside    Outcome   `json:"beside,omitzero"`            // what else comes under it
	Nearest   *Nearest  `json:"nearest,omitempty"`          // nil: it comes with each change alone
	NoReturn  *NoReturn `json:"no_return,omitempty"`        // nil: it is not known
	Other     *Build    `json:"other_build,omitempty"`      // nil: none was asked for
	Path      []Point   `json:"path"`                       // how it came to that, at most six sentences
	Runs      int       `json:"runs"`                       // that all of this took, besides the plan's own to its end
	Steps     int       `json:"steps"`                      // of all of these
	Unready   []string  `json:"remedies_unknown,omitempty"` // parts of the engine of which it is not known what comes with them: the steps do not suffice
	Unknown   []string  `json:"unknown,omitempty"`          // changes of which it is not known what comes: the steps do not suffice, the run is not over in its time, or a setting at its default leaves nothing that provides for the invariant
}

// What says what a change is made to.
type What string

// What can be changed.
const (
	Strike  What = "strike"  // a fault of the plan, left out
	Setting What = "setting" // a setting that the plan gives, left at its default
	Remedy  What = "remedy"  // a part of the engine that the plan does without, as the preset hardened has it
)

// Missing is a part of the engine that the plan does without.
type Missing struct {
	Set   string `json:"set"`             // key=value, as the preset hardened has it
	Means string `json:"means,omitempty"` // what is so without it, where it is there for this invariant
}

// Tried is a change to the plan, and what comes of it.
type Tried struct {
	What    What   `json:"what"`
	Says    string `json:"says"`              // the strike, or key=value as the plan has it
	Did     string `json:"did,omitempty"`     // what the strike did in the plan's own run, if it came to that
	Means   string `json:"means,omitempty"`   // what a strike of that kind does; or what is so without that part of the engine, where it is there for this invariant
	Aside   string `json:"aside,omitempty"`   // what is so without that part of the engine, which is there for another invariant: one that the run breaks, too, or that of a setting of the plan
	Instead string `json:"instead,omitempty"` // key=value as it was tried; of a strike, and of what is given for a job, it is left out
	Needed  bool   `json:"needed"`            // the violation does not come with this change, nor of a job of which the plan's own run has none; of a Remedy, the invariant is judged then, or the Remedy is there for it and provides for it
	// Otherwise is when the violation comes all the same without a strike that it came by: one of an operation that it depends on.
	Otherwise time.Duration `json:"otherwise_ns,omitempty"`

	Shuffled bool `json:"shuffled,omitempty"` // the violation does not come with it in this order of the steps, and does in another

	PartsAt int `json:"parts_at"` // the first step that is another than in the plan's own run up to the violation; 0: none is
	Outcome
}

// Outcome is what else comes of a change with which the violation does not come.
type Outcome struct {
	Idle   bool     `json:"idle,omitempty"`   // the invariant has nothing to judge, so it does not hold either
	Breaks []string `json:"breaks,omitempty"` // other invariants, which the plan's own run does not break, or only outside of their promise
	Beyond []string `json:"beyond,omitempty"` // those that break outside of their promise, and in the plan's own run do not
	Still  []string `json:"still,omitempty"`  // those that break and are among what the plan's own run also breaks, or does not judge, as one that they need is broken
	Jobs   []string `json:"jobs,omitempty"`   // that do not settle, or fail, and do well in the plan's own run

	Same      string   `json:"same,omitempty"`      // what becomes of the violation's job as in the plan's own run: that it ends TIMEOUT
	Elsewhere []string `json:"elsewhere,omitempty"` // other jobs than the violation's for which the invariant breaks, and in the plan's own run does not
	Others    []string `json:"others,omitempty"`    // those for which it breaks in that, too
	Unjudged  []string `json:"unjudged,omitempty"`  // invariants that the plan's own run also breaks, and that have nothing to judge
}

// Clean says whether the invariant holds, and nothing else goes wrong.
func (o *Outcome) Clean() bool { return o.wrong() == 0 }

// wrong counts what goes wrong. That nothing is judged is less than any of it.
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

// Circumstance says whether the change is to the world or the workload, and not to a strike or to what a preset sets.
func (t *Tried) Circumstance() bool {
	name := plans.NameOf(t.Says)
	return t.What == Setting && name != "preset" && !strings.HasPrefix(name, "engine.") && !slices.Contains(plans.OfServers, name)
}

// Standing is what an invariant comes to in a run.
type Standing string

// The standings of an invariant.
const (
	Holds  Standing = "holds"
	Breaks Standing = "breaks"
	Beyond Standing = "breaks outside of its promise"
	Idle   Standing = "not exercised"
)

// Nearest is the run without the violation, but for one change the same, in which least else goes wrong: of these the one with the
// part of the engine that is there for the invariant, and else the one that is longest as the plan's own run is. Where no step is
// another, only what leaves no event differs, as a metric does.
type Nearest struct {
	Tried
	Parting
	Then *Parting `json:"then,omitempty"` // where they part in a step of no job on the path, where they part first in one that is
}

// Parting is where two runs differ.
type Parting struct {
	Job   string `json:"job,omitempty"` // of which these are; "" is of all
	Own   *Point `json:"own"`           // the plan's own event; nil: there is none any more
	Other *Point `json:"other"`         // the nearest's; nil likewise
}

// Over says what stands for a point that there is none of.
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
	Operation string        `json:"operation,omitempty"` // the phase of the step's operation; of a path only where the violation hangs on that
	Says      string        `json:"says"`
}

// NoReturn is the first step from which a violation comes in every order that was tried. Up to the step, the order is the run's
// own. The faults of the plan strike in each.
type NoReturn struct {
	Step   int `json:"step"`   // 0: it comes in every order from the start
	Orders int `json:"orders"` // how many were tried from each step
	Before int `json:"before"` // in how many of them it comes from the step before; of Step 0 it is Orders

	Says string `json:"says,omitempty"` // what happens at Step; "" if that is not known

	Never bool `json:"never,omitempty"` // there is none before the violation, whose step Step is
}

// Decides is its step, alone, if there is one between the start and the violation.
func (n *NoReturn) Decides() []int {
	if n == nil || n.Step == 0 || n.Never {
		return nil
	}
	return []int{n.Step}
}

// String says where it is. It is empty where that is the start, since the violation does not hang on an order then, and where
// it is not known.
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
	Name     string   `json:"name"`               // as its result has it
	Standing Standing `json:"standing,omitempty"` // of the invariant; "" if that is not known
	Unknown  string   `json:"unknown,omitempty"`  // why it is not
	PartsAt  int      `json:"parts_at"`           // the first event that is another than in the plan's own run; 0: none is
	Parting
}

// Says is what the invariant comes to in that build.
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

// Found says whether there is anything that the violation hangs on.
func (c *Cause) Found() bool {
	if c.Other != nil && c.Other.Standing == Holds {
		return true
	}
	return len(c.Together)+len(c.Jointly) > 0 || len(c.Needed(Strike, Setting, Remedy)) > 0
}

// Needed are the changes without which the violation does not come, of these kinds.
func (c *Cause) Needed(kinds ...What) (list []Tried) {
	for _, t := range c.Tried {
		if t.Needed && slices.Contains(kinds, t.What) {
			list = append(list, t)
		}
	}
	return list
}

// Remedies are the parts of the engine with which the violation does not come, those first with which nothing else goes wrong.
func (c *Cause) Remedies() []Tried {
	list := c.Needed(Remedy)
	slices.SortStableFunc(list, worseLast)
	return list
}

// Blamed are the strikes, and the settings of the engine and its servers, without which the violation does not come.
func (c *Cause) Blamed() []Tried {
	return slices.DeleteFunc(c.Needed(Strike, Setting), func(t Tried) bool { return t.Circumstance() })
}

// Circumstances are the settings of the world and the workload without which the violation does not come.
func (c *Cause) Circumstances() []Tried {
	return slices.DeleteFunc(c.Needed(Setting), func(t Tried) bool { return !t.Circumstance() })
}

// Unneeded are the strikes and settings without any one of which the violation comes all the same, but those of Together.
func (c *Cause) Unneeded() (list []Tried) {
	for _, t := range c.Tried {
		if !t.Needed && t.What != Remedy && !slices.Contains(c.Together, t.Says) {
			list = append(list, t)
		}
	}
	return list
}

// Shuffled says whether there is a change with which the violation only comes in another order of the steps.
func (c *Cause) Shuffled() bool {
	return slices.ContainsFunc(c.Tried, func(t Tried) bool { return t.Shuffled })
}

// Operations are those on the path on which the violation hangs, in order of name, each once.
func (c *Cause) Operations() (list []string) {
	for _, at := range c.Path {
		if at.Operation != "" {
			list = append(list, at.Operation)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
