package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
)

// remediesMost is how many remedies are named.
const remediesMost = 3

// remedies returns the remedies to name, those with which nothing else goes wrong first, and the number of
// the others.
func (c *Cause) remedies() (named []Tried, more int) {
	list := c.Remedies()
	n := min(len(list), remediesMost)
	return list[:n], len(list) - n
}

// Held says that the invariant holds and, if it holds only for one job, for which.
func (c *Cause) Held(o Outcome) string {
	if len(o.Elsewhere)+len(o.Others) > 0 {
		return c.Invariant + " holds for " + c.Job
	}
	return c.Invariant + " holds"
}

// Brief says which part of the engine is missing, if that is known, and what the violation needs.
func (c *Cause) Brief() string {
	return strings.Join(slices.Concat(c.mechanism(), []string{c.needs()}, c.otherwise()), " ")
}

// otherwise lists the strikes by which the violation came, and without which it comes all the same.
func (c *Cause) otherwise() (says []string) {
	for _, t := range c.Tried {
		switch {
		case t.Otherwise == 0:
		case slices.Contains(c.Together, t.Says):
			says = append(says, fmt.Sprintf("It came by %s. Without that alone it comes at %s.", saying([]Tried{t})[0], invariants.Instant(t.Otherwise)))
		default:
			says = append(says, fmt.Sprintf("It came by another fault, too: %s. Without that it comes all the same, at %s.", saying([]Tried{t})[0], invariants.Instant(t.Otherwise)))
		}
	}
	return says
}

// mechanism says what holds without the parts of the engine that would uphold the invariant, or else another
// invariant that the run breaks. If less goes wrong with one part than with another, only the former is a
// cause.
func (c *Cause) mechanism() (says []string) {
	var other []string
	remedies, _ := c.remedies()
	for _, t := range append(c.Needed(Setting), remedies...) {
		if t.What == Remedy && t.wrong() > remedies[0].wrong() {
			continue
		}
		if t.Means != "" {
			says = append(says, t.Means)
		}
		if t.Aside != "" {
			other = append(other, t.Aside)
		}
	}
	for _, part := range c.Jointly {
		if part.Means != "" {
			says = append(says, part.Means)
		}
	}
	if len(says) == 0 {
		return other
	}
	return says
}

// needs says what the violation needs.
func (c *Cause) needs() string {
	strikes, settings := saying(c.Needed(Strike)), saying(c.Needed(Setting))
	too := ""
	if len(settings) > 0 {
		too = " It needs " + invariants.List(settings) + ", too."
	}
	switch {
	case len(c.Together) > 0:
		var all []Tried
		for _, says := range c.Together {
			t := Tried{What: Strike, Says: says}
			if i := slices.IndexFunc(c.Tried, func(t Tried) bool { return t.Says == says }); i >= 0 {
				t = c.Tried[i]
			}
			all = append(all, t)
		}
		if len(strikes) > 0 {
			too = " It needs " + invariants.List(append(strikes, settings...)) + ", too."
		}
		return "The violation needs one of these: " + strings.Join(saying(all), "; ") + "." + too
	case len(strikes) == 1:
		return "The violation needs a fault: " + strikes[0] + "." + too
	case len(strikes) > 1:
		return fmt.Sprintf("The violation needs %d faults: %s.%s", len(strikes), strings.Join(strikes, "; "), too)
	case len(settings) > 0 && (len(c.Unknown) > 0 || len(c.Untried) > 0 || len(c.Blamed()) > 0):
		return "The violation needs " + invariants.List(settings) + "."
	case len(settings) > 0:
		return "The violation needs " + invariants.List(settings) + ", but no fault and no setting of the engine."
	case len(c.Unknown) > 0:
		return "What the violation needs is not known."
	case len(c.Untried) > 0:
		return "The violation needs no fault and no setting of the plan that can be left out."
	case len(c.Needed(Remedy)) > 0:
		return "The violation needs no fault and no setting of the plan."
	}
	says := "The violation comes whatever fault or setting of the plan is left out"
	if c.Shuffled() {
		says += ", in this order of the steps or in another"
	}
	return says + "."
}

// Holding says what makes the invariant hold when it is removed or added, what goes wrong then, and where the
// point of no return is.
func (c *Cause) Holding() string {
	says := append(c.without(), c.with()...)
	if len(c.Also) > 0 && c.Found() {
		says = append(says, c.others())
	}
	switch c.Hardened {
	case Holds:
		if c.Beside.Clean() {
			says = append(says, "The same plan holds under the preset hardened.")
		} else {
			says = append(says, "Under the preset hardened, "+c.Held(c.Beside)+c.Beside.But()+".")
		}
		if c.Undivided {
			says = append(says, "Which parts of the preset that takes is not known.")
		}
	case Idle:
		if len(c.idle()) == 0 || c.Beside.But() != "" { // otherwise it is said with the parts of the engine
			says = append(says, "Under the preset hardened, "+c.nothing()+c.Beside.But()+".")
		}
	case Breaks:
		says = append(says, "The same plan is violated under the preset hardened, too.")
	case Beyond:
		says = append(says, "It comes under the preset hardened, too, where nothing promises that it does not.")
	}
	if len(c.Untried) > 0 && len(c.Blamed()) == 0 {
		says = append(says, invariants.List(few(c.Untried))+" could not be left out alone: the plan is not valid then.")
	}
	if len(c.Unknown) > 0 {
		says = append(says, "It is not known what comes "+invariants.Either(few(c.Unknown))+".")
	}
	switch n := len(c.Unready); n {
	case 0:
	case 1:
		says = append(says, "It is not known what comes "+Clip(c.Unready[0])+".")
	default:
		says = append(says, fmt.Sprintf("Of %d more parts of the engine it is not known what comes with them.", n))
	}
	switch order := c.NoReturn.String(); {
	case c.NoReturn == nil:
		says = append(says, "Whether the order of the steps matters is not known.")
	case c.NoReturn.Never:
		says = append(says, "Whether it comes depends on the order of the steps right up to the violation.")
	case order != "":
		says = append(says, order)
	}
	return strings.Join(says, " ")
}

// String joins [Cause.Brief] and [Cause.Holding].
func (c *Cause) String() string { return strings.TrimSuffix(c.Brief()+" "+c.Holding(), " ") }

// without says what happens without what the violation needs.
func (c *Cause) without() (says []string) {
	needed := c.Needed(Strike, Setting)
	all, what := c.outcomes(needed), c.leaving()
	alike := !slices.ContainsFunc(all, func(o Outcome) bool { return o.Idle != all[0].Idle || o.But() != all[0].But() })
	switch {
	case len(all) == 0:
		return nil
	case alike && all[0].Idle:
		return []string{fmt.Sprintf("Without %s, %s%s.", what, c.nothing(), all[0].But())}
	case alike:
		return []string{fmt.Sprintf("Without %s, %s%s.", what, c.Held(all[0]), all[0].But())}
	}
	var sorts []string // the distinct outcomes
	names := map[string][]string{}
	add := func(name string, o *Outcome) {
		says := c.Held(*o) + o.But()
		if o.Idle {
			says = c.nothing() + o.But()
		}
		if names[says] == nil {
			sorts = append(sorts, says)
		}
		names[says] = append(names[says], name)
	}
	if len(c.Together) > 0 {
		add("all of the first", &c.Apart)
	}
	slices.SortStableFunc(needed, worseLast)
	for i := range needed {
		add(short(&needed[i], needed), &needed[i].Outcome)
	}
	for _, what := range sorts {
		says = append(says, fmt.Sprintf("Without %s, %s.", invariants.Either(names[what]), what))
	}
	return says
}

// outcomes lists the outcomes of removing what is needed.
func (c *Cause) outcomes(needed []Tried) (all []Outcome) {
	if len(c.Together) > 0 {
		all = append(all, c.Apart)
	}
	for _, t := range needed {
		all = append(all, t.Outcome)
	}
	return all
}

// leaving names what is removed.
func (c *Cause) leaving() string {
	switch needed := c.Needed(Strike, Setting); {
	case len(c.Together) > 0 && len(needed) > 0:
		return "all of the first at once, or any one of what else it needs"
	case len(c.Together) == 2:
		return "both"
	case len(c.Together) > 0:
		return "all of them"
	case len(needed) > 1:
		return "any one of what it needs"
	case len(needed) == 1 && needed[0].What == Setting:
		return Clip(needed[0].Says)
	}
	return "the fault"
}

// short names a change of the list: a strike by its kind alone, if no other strike is of that kind.
func short(t *Tried, list []Tried) string {
	kind, _, _ := strings.Cut(t.Says, " ")
	alike := 0
	for _, o := range list {
		if o.What == Strike && strings.HasPrefix(o.Says, kind+" ") {
			alike++
		}
	}
	if t.What == Strike && alike == 1 {
		return "the " + kind
	}
	return Clip(t.Says)
}

// with says with which parts of the engine the invariant holds.
func (c *Cause) with() (says []string) {
	var clean []string
	remedies, more := c.remedies()
	for _, t := range remedies {
		switch {
		case t.Clean():
			clean = append(clean, Clip(t.Instead))
		case t.Idle && t.But() == "": // these are named together
		case t.Idle:
			says = append(says, fmt.Sprintf("With %s, %s%s.", Clip(t.Instead), c.nothing(), t.But()))
		default:
			says = append(says, fmt.Sprintf("With %s, %s%s.", Clip(t.Instead), c.Held(t.Outcome), t.But()))
		}
	}
	if len(c.Jointly) > 0 {
		var sets []string
		for _, part := range c.Jointly {
			sets = append(sets, Clip(part.Set))
		}
		says = append(says, fmt.Sprintf("With %s at once, and with no fewer, %s%s.", invariants.List(sets), c.Held(c.Joined), c.Joined.But()))
	}
	if idle := c.idle(); len(idle) > 0 {
		too := ""
		if c.Hardened == Idle && c.Beside.But() == "" {
			too = ", or under the preset hardened"
		}
		says = append(says, fmt.Sprintf("With %s%s, %s.", invariants.Either(idle), too, c.nothing()))
	}
	if len(clean) > 0 {
		says = slices.Insert(says, 0, fmt.Sprintf("With %s, %s.", invariants.Either(clean), c.Held(Outcome{})))
	}
	switch more {
	case 0:
	case 1:
		says = append(says, "With 1 more part of the engine the violation does not come either.")
	default:
		says = append(says, fmt.Sprintf("With each of %d more parts of the engine the violation does not come either.", more))
	}
	return says
}

// idle lists the parts of the engine with which the invariant has nothing to judge, and nothing else goes
// wrong.
func (c *Cause) idle() (names []string) {
	list, _ := c.remedies()
	for _, t := range list {
		if t.Idle && t.But() == "" {
			names = append(names, Clip(t.Instead))
		}
	}
	return names
}

// nothing says that the invariant has nothing to judge, which is less than that it holds.
func (c *Cause) nothing() string { return "nothing happens that " + c.Invariant + " judges" }

// others says which other promises the run breaks and, if each change makes all of them hold, that it does.
func (c *Cause) others() string {
	all := c.outcomes(c.Needed(Strike, Setting, Remedy))
	if len(c.Jointly) > 0 {
		all = append(all, c.Joined)
	}
	says := "The plan's own run also breaks " + invariants.List(few(c.Also))
	if len(all) == 0 || slices.ContainsFunc(all, func(o Outcome) bool { return len(o.Still)+len(o.Unjudged) > 0 }) {
		return says + "."
	}
	if len(c.Also) == 1 {
		return says + ", which holds with each of these changes."
	}
	return says + ", which hold with each of these changes."
}

// saying describes changes. It explains a kind of strike with the first of its kind.
func saying(list []Tried) (says []string) {
	said := map[string]bool{"": true}
	for _, t := range list {
		effect, _, _ := strings.Cut(t.Says, " ")
		k := faults.KindOf(faults.Effect(effect))
		onNode := k.Effect != "" && k.OnNode()
		s := Clip(t.Says)
		switch {
		case t.Did != "":
			s = t.Did
		case t.What == Strike && onNode:
			s = "a " + s
		case t.What == Setting && t.Instead != "":
			if _, value, _ := strings.Cut(t.Instead, "="); value != "true" && value != "false" {
				s += " rather than " + Clip(value)
			}
		}
		if t.What == Strike && !said[t.Means] && (t.Did == "" || onNode) {
			s += " (" + t.Means + ")"
			said[t.Means] = true
		}
		says = append(says, s)
	}
	return says
}

// listMost is how many elements of a list a sentence names.
const listMost = 3

// few returns the first elements of a list, and the number of the others.
func few(list []string) []string {
	if len(list) <= listMost {
		return list
	}
	return append(slices.Clone(list[:listMost]), fmt.Sprintf("%d more", len(list)-listMost))
}

// clipAt is how many characters of a value are shown.
const clipAt = 120

// ClipFrom clips as Clip does. If text differs from other only later, the clip begins shortly before the
// difference.
func ClipFrom(text, other string) string {
	runes, others, same := []rune(text), []rune(other), 0
	for same < min(len(runes), len(others)) && runes[same] == others[same] {
		same++
	}
	if before := same - clipAt/4; before > 0 && len(runes) > clipAt {
		return "…" + Clip(string(runes[before:]))
	}
	return Clip(text)
}

// Clip shortens a text that is too long for a sentence, such as a label.
func Clip(text string) string {
	if runes := []rune(text); len(runes) > clipAt {
		return string(runes[:clipAt]) + "…"
	}
	return text
}

// But says what goes wrong although the invariant holds, as a continuation of that sentence; "" if nothing
// does.
func (o *Outcome) But() string {
	var says []string
	breaks := func(names []string, still, where, wheres string) {
		switch len(names) {
		case 0:
		case 1:
			says = append(says, names[0]+still+" breaks"+where)
		default:
			says = append(says, invariants.List(few(names))+still+" break"+wheres)
		}
	}
	if len(o.Elsewhere) > 0 {
		says = append(says, "the invariant breaks for "+invariants.List(few(o.Elsewhere)))
	}
	if len(o.Others) > 0 {
		says = append(says, "the invariant still breaks for "+invariants.List(few(o.Others)))
	}
	breaks(o.Breaks, "", "", "")
	breaks(o.Still, " still", "", "")
	breaks(o.Beyond, "", " outside of its promise", " outside of their promises")
	says = append(says, few(likewise(o.Jobs))...)
	if o.Same != "" {
		says = append(says, o.Same+" all the same")
	}
	if len(says) == 0 {
		return ""
	}
	return ", but then " + invariants.List(says)
}

// likewise joins sentences that say the same of several jobs. Each begins with its job.
func likewise(sentences []string) (says []string) {
	var sorts []string
	jobs := map[string][]string{}
	for _, s := range sentences {
		job, what, _ := strings.Cut(s, " ")
		if jobs[what] == nil {
			sorts = append(sorts, what)
		}
		jobs[what] = append(jobs[what], job)
	}
	for _, what := range sorts {
		first, others := jobs[what][0], jobs[what][1:]
		s := first + " " + what
		if len(others) > 0 {
			s += " (likewise " + invariants.List(few(others)) + ")"
		}
		says = append(says, s)
	}
	return says
}

// With describes the change.
func (t *Tried) With() string {
	if t.Instead != "" {
		return "with " + Clip(t.Instead)
	}
	return "without " + Clip(t.Says)
}
