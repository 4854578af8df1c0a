package faults

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/faults/suggest"
)

// Actor, as a Fault.Node, means the node that ran the operation that the fault is tied to.
const Actor = "actor"

// World is what faults can refer to: nodes, jobs and phases.
type World struct {
	Jobs   int // jobs are numbered from 1 to Jobs
	Nodes  []string
	Phases []Phase
	Links  []Link
}

// Problem says what is wrong with a fault, and how to mend it.
type Problem struct {
	Field   string // in the spelling of YAML, such as "do" or "on.phase"
	Message string
	Remedy  string
}

func (p *Problem) Error() string { return p.Field + ": " + p.Message + "; " + p.Remedy }

// Validate returns what is wrong with f in w: all fields that are missing or refer to nothing. If there are
// none, it returns the first conflict between fields, and all fields that the fault does not use. The tags
// give the ranges.
func (f Fault) Validate(w World) (list []*Problem) {
	for _, check := range []func(World) *Problem{f.checkWhere, f.checkDo, f.checkPhase, f.checkJob, f.checkActor} {
		if p := check(w); p != nil {
			list = append(list, p)
		}
	}
	if list != nil {
		return list
	}
	for _, check := range []func(World) *Problem{f.checkEffect, f.checkMatch, f.checkNode} {
		if p := check(w); p != nil {
			list = append(list, p)
			break
		}
	}
	return append(list, f.useless()...)
}

// match returns On or After, whichever is set, and the field's name.
func (f Fault) match() (*Match, string) {
	if f.On != nil {
		return f.On, "on"
	}
	return f.After, "after"
}

func (f Fault) checkWhere(World) *Problem {
	var given []string
	for _, key := range []struct {
		name  string
		given bool
	}{{"on", f.On != nil}, {"after", f.After != nil}, {"at", f.At != 0}} {
		if key.given {
			given = append(given, key.name)
		}
	}
	switch n := len(given); {
	case n == 0:
		return &Problem{"do", "the fault does not say where it strikes", "give one of on, after, and at (later than 0s)"}
	case n > 1:
		return &Problem{given[n-1], "the fault says more than once where it strikes: by " + strings.Join(given, " and by "), "give exactly one of on, after and at"}
	}
	return nil
}

func (f Fault) checkDo(World) *Problem {
	if f.Do == "" {
		return &Problem{"do", "the fault does not say what it does", "do is one of " + strings.Join(effectNames(), ", ")}
	}
	if KindOf(f.Do).Effect == "" {
		return &Problem{"do", fmt.Sprintf("unknown fault %q", f.Do), "do is one of " + strings.Join(effectNames(), ", ") + suggest.Hint(string(f.Do), effectNames())}
	}
	return nil
}

func (f Fault) checkPhase(w World) *Problem {
	m, field := f.match()
	switch {
	case m == nil:
		return nil
	case m.Phase == "":
		return &Problem{field + ".phase", "the phase is missing", "say which operation, such as phase: publish"}
	}
	var names []string
	for _, p := range w.Phases {
		names = append(names, p.Name)
	}
	if !slices.Contains(names, m.Phase) {
		return &Problem{field + ".phase", fmt.Sprintf("unknown phase %q", m.Phase), "`wavetank list faults` names the phases" + suggest.Hint(m.Phase, names)}
	}
	return nil
}

func (f Fault) checkJob(w World) *Problem {
	m, field := f.match()
	if m != nil && m.Job > w.Jobs && !slices.ContainsFunc(w.Phases, func(p Phase) bool { return p.Name == m.Phase && p.NoJob }) {
		return &Problem{field + ".job", fmt.Sprintf("there is no job %d", m.Job), fmt.Sprintf("the workload has jobs 1 to %d", w.Jobs)}
	}
	return nil
}

// checkActor checks the node whose operation is struck.
func (f Fault) checkActor(w World) *Problem {
	if m, field := f.match(); m != nil && m.Node != "" && !slices.Contains(w.Nodes, m.Node) {
		return unknownNode(field+".node", m.Node, w.Nodes)
	}
	return nil
}

func (f Fault) checkEffect(World) *Problem {
	k := KindOf(f.Do)
	switch {
	case f.Do == Partition && f.At == 0:
		return &Problem{"do", "a partition begins at a time", "replace on or after by at, such as at: 5s"}
	case k.OnNode() && f.On != nil:
		return &Problem{"do", k.String() + " comes after an operation, or at a time", "replace on by after, or by at, such as at: 5s"}
	case f.On == nil && !k.OnNode():
		return &Problem{"do", fmt.Sprintf("%s strikes an operation", f.Do), "say which one with on, or use a fault of a node: crash, pause or partition"}
	}
	for _, key := range k.Keys {
		d, name := f.Value(key.Name)
		if missing := name == "" && (d == nil || *d == 0); key.Need != "" && missing {
			return &Problem{"do", k.String() + " needs " + key.Name, key.Need}
		}
		if len(key.Names) > 0 && !slices.Contains(key.Names, name) {
			return &Problem{key.Name, fmt.Sprintf("unknown word %q", name), key.Name + " is one of " + strings.Join(key.Names, ", ") + suggest.Hint(name, key.Names)}
		}
	}
	return nil
}

func (f Fault) checkMatch(w World) *Problem {
	m, field := f.match()
	if m == nil {
		return nil
	}
	i := slices.IndexFunc(w.Phases, func(p Phase) bool { return p.Name == m.Phase })
	place := w.Phases[i].Place
	k := KindOf(f.Do)
	switch {
	case place == PlaceNone:
		return &Problem{field + ".phase", fmt.Sprintf("%s is no operation, so nothing can happen there", m.Phase), "use the phase before or after it"}
	case !k.OnNode() && !slices.Contains(k.Places, place):
		return &Problem{"do", fmt.Sprintf("%s makes no sense for %s: %s", f.Do, m.Phase, k.Unfit), "use " + effectsAt(place)}
	case f.Do == Late && Reads(m.Phase):
		return &Problem{"do", fmt.Sprintf("late makes no sense for %s: it changes nothing", m.Phase), "use hang"}
	case m.Job != 0 && w.Phases[i].NoJob:
		return &Problem{field + ".job", fmt.Sprintf("the phase %s belongs to no job", m.Phase), "remove job, or name a node instead"}
	}
	return nil
}

// effectsAt lists the effects that can strike operations at place.
func effectsAt(place Place) string {
	var names []string
	for _, k := range catalogue {
		if slices.Contains(k.Places, place) {
			names = append(names, string(k.Effect))
		}
	}
	return strings.Join(append(names, "after with "+string(Crash)), ", or ")
}

func (f Fault) checkNode(w World) *Problem {
	k := KindOf(f.Do)
	switch {
	case !k.OnNode() && f.Node != "":
		return &Problem{"node", fmt.Sprintf("%s strikes an operation, not a node", f.Do), "remove node, or write it inside on: {node: " + f.Node + "}"}
	case !k.OnNode():
		return nil
	case f.Do.OfServer() && !slices.Contains(k.Servers, f.Node):
		return &Problem{"node", k.String() + " strikes only " + strings.Join(k.Servers, " or "), "write node: " + strings.Join(k.Servers, ", or node: ")}
	case f.Do.OfServer():
		return nil
	case f.Node == "":
		return &Problem{"do", fmt.Sprintf("%s needs a node", f.Do), "add node: with one of " + few(f.nodesAllowed(w))}
	case f.Node == Actor && f.At != 0:
		return &Problem{"node", "at a given time there is no actor", "name the node"}
	case f.Node != Actor && !slices.Contains(w.Nodes, f.Node):
		return unknownNode("node", f.Node, f.nodesAllowed(w))
	}
	if f.Do != Partition {
		return nil
	}
	var names []string
	for _, l := range w.Links {
		names = append(names, l.Name)
	}
	i := slices.Index(names, f.From)
	switch {
	case f.From == "":
		return &Problem{"do", "a partition needs from", "say what the node is cut off from: from: " + strings.Join(names, " or from: ")}
	case i < 0:
		return &Problem{"from", fmt.Sprintf("nothing is called %q", f.From), "from is one of " + strings.Join(names, ", ") + suggest.Hint(f.From, names)}
	case !slices.Contains(w.Links[i].Nodes, f.Node):
		return &Problem{"node", fmt.Sprintf("%s has nothing to do with %s", f.Node, f.From), "use one of " + few(w.Links[i].Nodes)}
	}
	return nil
}

func (f Fault) nodesAllowed(w World) []string {
	if f.At != 0 {
		return w.Nodes
	}
	return append([]string{Actor}, w.Nodes...)
}

func unknownNode(field, name string, nodes []string) *Problem {
	return &Problem{field, fmt.Sprintf("unknown node %q", name), "the nodes are " + few(nodes) + suggest.Hint(name, nodes)}
}

// few lists names; of a long list it shows both ends.
func few(names []string) string {
	const shown = 12
	if len(names) > shown {
		names = append(append(slices.Clone(names[:shown-2]), "..."), names[len(names)-1])
	}
	return strings.Join(names, ", ")
}

// useless reports the fields that the fault does not use.
func (f Fault) useless() (list []*Problem) {
	for _, b := range []struct {
		field string
		given bool
	}{{"rate", f.Rate != 0}, {"times", f.Times != 0}} {
		if b.given && f.On == nil {
			list = append(list, &Problem{b.field, b.field + " belongs to faults with on", "remove it"})
		}
	}
	k := KindOf(f.Do)
	for _, key := range []string{"from", "with", "for", "by", "lag", "restart_in"} {
		if d, name := f.Value(key); !k.Takes(key) && (name != "" || d != nil && *d != 0) {
			list = append(list, &Problem{key, key + " belongs to " + takers(key), "remove it"})
		}
	}
	if f.Rate != 0 && f.On != nil && (f.Times != 0 || f.On.Occurrence != 0) {
		list = append(list, &Problem{"rate", "rate already says how often", "remove occurrence and times"})
	}
	return list
}

// takers names the kinds that take a key.
func takers(key string) string {
	var list []string
	for _, k := range catalogue {
		if k.Takes(key) {
			list = append(list, k.String())
		}
	}
	return strings.Join(list, " or ")
}
