package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
)

// Cause is what the violation of an invariant hangs on.
type Cause struct {
	Invariant string        `json:"invariant"`
	Job       string        `json:"job,omitempty"`
	Step      int           `json:"step"`
	At        time.Duration `json:"at_ns"`
	Message   string        `json:"message"`

	Tried    []Tried   `json:"tried"`               // each change to the plan, alone
	Together []string  `json:"together,omitempty"`  // strikes, or strikes and settings, none of which is necessary, but all at once
	Hardened Standing  `json:"hardened,omitempty"`  // what the same plan does under the preset hardened; "" if it is that already
	Nearest  *Nearest  `json:"nearest,omitempty"`   // nil: it comes whatever is changed
	NoReturn *NoReturn `json:"no_return,omitempty"` // nil: it was not looked for to the end
	Path     []Point   `json:"path"`                // how it came to that, at most six sentences
	Runs     int       `json:"runs"`                // that all of this took
	Steps    int       `json:"steps"`               // of all runs
	Cut      bool      `json:"cut,omitempty"`       // the runs are so long that it is not known what comes of every change
}

// What says what a change is made to.
type What string

// What can be changed.
const (
	Strike  What = "strike"  // a fault of the plan, left out
	Setting What = "setting" // a setting that the plan gives, left at its default
	Remedy  What = "remedy"  // a part of the engine that the plan does without, as the preset hardened has it
)

// Tried is a change to the plan, and what comes of it.
type Tried struct {
	What    What   `json:"what"`
	Says    string `json:"says"`              // the strike, or key=value as the plan has it
	Means   string `json:"means,omitempty"`   // what a strike of that kind does; or what comes about without that part of the engine, where this is known
	Instead string `json:"instead,omitempty"` // key=value as it was tried; of a strike, and of what is given for a job, it is left out
	Needed  bool   `json:"needed"`            // without it, or with it as it was tried, the violation does not come
	Parts   int    `json:"parts"`             // the first step that is another than in the plan's own run; 0: none is
}

// Circumstance says whether the change is to the world or the workload, and not to a strike or to what a preset sets.
func (t *Tried) Circumstance() bool {
	return t.What == Setting && !slices.ContainsFunc(ofPresets, func(start string) bool { return strings.HasPrefix(t.Says, start) })
}

// ofPresets is how the settings begin that a preset sets (plans.OfServers are among them).
var ofPresets = []string{"engine.", "preset=", "world.sync_always=", "world.redis_disk="}

// Standing is what an invariant comes to in a run.
type Standing string

// The standings of an invariant.
const (
	Holds  Standing = "holds"
	Breaks Standing = "breaks"
)

// Nearest is the run without the violation that is longest as the plan's own run is, of those that change a strike or the
// engine if there are any.
type Nearest struct {
	Tried
	Own   *Point `json:"own"`   // the plan's own event at which they part; nil: its run is over
	Other *Point `json:"other"` // the nearest's; nil likewise
}

// Point is something that happens at a step.
type Point struct {
	Step      int           `json:"step"`
	At        time.Duration `json:"at_ns"`
	Operation string        `json:"operation,omitempty"` // the phase of the step's operation; of a path only where the violation hangs on that
	Says      string        `json:"says"`
}

// NoReturn is the first step from which a violation comes in every order that was tried. Up to the step, the order is the run's
// own.
type NoReturn struct {
	Step   int `json:"step"`   // 0: it comes in every order from the start
	Orders int `json:"orders"` // how many were tried from each step
	Before int `json:"before"` // in how many of them it comes from the step before; of Step 0 it is Orders
}

func (n *NoReturn) String() string {
	if n.Step == 0 {
		return fmt.Sprintf("The point of no return is the start: the violation comes in each of %d orders.", n.Orders)
	}
	return fmt.Sprintf("The point of no return is step %d: from there the violation comes in each of %d orders, from the step before in %d.", n.Step, n.Orders, n.Before)
}

// Found says whether there is anything that the violation hangs on.
func (c *Cause) Found() bool {
	return len(c.Together) > 0 || len(c.Needed(Strike, Setting, Remedy)) > 0
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

// remediesMost is how many remedies are named in a sentence.
const remediesMost = 3

// Brief says what goes wrong, where that is known, and what it takes.
func (c *Cause) Brief() string {
	var says string
	blamed, circumstances := saying(c.Blamed()), saying(c.Circumstances())
	parts := c.Needed(Setting)
	if remedies := c.Needed(Remedy); len(remedies) <= remediesMost {
		parts = append(parts, remedies...)
	}
	for _, t := range parts {
		if t.Means != "" {
			says += t.Means + " "
		}
	}
	switch {
	case len(c.Together) > 0:
		says += "The violation needs one of these: " + strings.Join(withArticles(c.Together), "; ") + "."
		if needed := append(blamed, circumstances...); len(needed) > 0 {
			says += " It needs " + list(needed) + ", too."
		}
	case len(blamed) > 0:
		says += "The violation needs " + list(blamed)
		if len(circumstances) > 0 {
			says += ", with " + list(circumstances)
		}
		says += "."
	case len(circumstances) > 0 && c.Cut:
		says += "The violation needs " + list(circumstances) + "."
	case len(circumstances) > 0:
		says += "The violation needs " + list(circumstances) + ", but no strike and no setting of the engine."
	case len(c.Needed(Remedy)) > 0 && !c.Cut:
		says += "The violation needs no strike and no setting of the plan."
	case c.Cut:
		says += "What the violation needs is not known: the runs are so long that not every change could be tried."
	default:
		says += "The violation comes whatever strike or setting of the plan is left out."
	}
	return says
}

// String says what [Cause.Brief] does, without what and with what the invariant holds, and from where there is no return.
func (c *Cause) String() string {
	says := c.Brief()
	switch needed := len(c.Needed(Strike, Setting)); {
	case len(c.Together) > 0 && needed > 0:
		says += fmt.Sprintf(" Leave out all of the first, or any one of the others, and %s holds.", c.Invariant)
	case len(c.Together) > 0:
		says += fmt.Sprintf(" Leave out all of them, and %s holds.", c.Invariant)
	case needed == 1:
		says += fmt.Sprintf(" Leave it out, and %s holds.", c.Invariant)
	case needed > 1:
		says += fmt.Sprintf(" Leave out any one of these, and %s holds.", c.Invariant)
	}
	if remedies := c.Needed(Remedy); len(remedies) > 0 && len(remedies) <= remediesMost {
		var instead []string
		for _, t := range remedies {
			instead = append(instead, t.Instead)
		}
		says += fmt.Sprintf(" It also holds with %s.", strings.Join(instead, ", or with "))
	}
	switch c.Hardened {
	case Holds:
		says += " The same plan holds under the preset hardened."
	case Breaks:
		says += " The same plan is violated under the preset hardened, too."
	}
	if c.NoReturn != nil {
		says += " " + c.NoReturn.String()
	}
	if c.Cut && c.Found() {
		says += " The runs are so long that not every change could be tried."
	}
	return says
}

// saying lists changes in words. What a kind of strike does is said with the first of its kind.
func saying(list []Tried) (says []string) {
	said := map[string]bool{"": true}
	for _, t := range list {
		s := t.Says
		if t.What == Strike && !said[t.Means] {
			s += " (" + t.Means + ")"
			said[t.Means] = true
		}
		says = append(says, s)
	}
	return withArticles(says)
}

// withArticles puts an article before what strikes a node, as in a sentence: a crash of worker-1.
func withArticles(says []string) (list []string) {
	for _, s := range says {
		effect, _, _ := strings.Cut(s, " ")
		if k := faults.KindOf(faults.Effect(effect)); k.Effect != "" && k.OnNode() {
			s = "a " + s
		}
		list = append(list, s)
	}
	return list
}

// list joins words as a sentence does. Between those with commas of their own stand semicolons.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	comma, and := ", ", " and "
	if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, ", ") }) {
		comma, and = "; ", "; and "
	}
	return strings.Join(words[:len(words)-1], comma) + and + words[len(words)-1]
}
