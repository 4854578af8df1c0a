package invariants

import (
	"fmt"
	"slices"
	"strings"
)

// Promise is one row of the promise matrix, in words.
type Promise struct {
	Invariant string   `json:"invariant"`
	Takes     []string `json:"takes,omitempty"` // any one of these settings suffices; without one, nothing is promised
	Cells     []Cell   `json:"cells"`           // one for each kind of strike
	Open      *Cell    `json:"open,omitempty"`  // something other than a strike under which nothing is promised yet
}

// Cell is the matrix's entry for one invariant and one kind of strike.
type Cell struct {
	Strike string   `json:"strike"`
	Status string   `json:"status"`         // "promised", "promised with", "impossible" or "open"
	With   []string `json:"with,omitempty"` // settings, one of which suffices
	Says   string   `json:"says,omitempty"` // why no scheduler can promise it, or what would close the cell
	ways   []way    // the long form of With
}

// way is settings that close a cell together, and the effects of their mechanisms.
type way struct{ settings, does []string }

// The statuses of a cell that depend on settings. The others are rulings.
const (
	statusPromised = "promised"
	statusWith     = "promised with"
)

// Promise describes the row, for the invariant with that name.
func (r *Row[C]) Promise(invariant string) Promise {
	p := Promise{Invariant: invariant, Takes: names(r.Takes), Cells: r.cells()}
	if r.Open.Under != "" {
		p.Open = &Cell{Strike: r.Open.Under, Status: string(Open), Says: r.Open.Says}
	}
	return p
}

func (r *Row[C]) cells() (cells []Cell) {
	for i := range r.Strikes {
		cells = append(cells, r.Cell(r.Strikes[i].Kind))
	}
	return cells
}

// Cell returns the row's cell for a kind of strike. If there are several exceptions, it takes the one that is
// hardest to close.
func (r *Row[C]) Cell(k StrikeKind) Cell {
	c, kind := Cell{Strike: k.String(), Status: statusPromised}, r.Strikes.Set(k)
	for _, e := range r.Except {
		switch {
		case e.By&kind == 0:
		case len(e.But) == 0:
			return Cell{Strike: c.Strike, Status: string(e.Why), Says: e.Says}
		case c.Status == statusPromised:
			c.Status, c.ways = statusWith, waysOf(e.But)
		default:
			c.ways = both(c.ways, waysOf(e.But))
		}
	}
	for _, w := range c.ways {
		c.With = append(c.With, w.String())
	}
	return c
}

func waysOf[C any](list []Mechanism[C]) (ways []way) {
	for _, m := range list {
		w := way{settings: m.names()}
		if m.Name != "" {
			w.does = []string{m.Name}
		}
		ways = append(ways, w)
	}
	return ways
}

func (w way) String() string { return strings.Join(w.settings, " and ") }

// both combines alternatives, where one of each list is needed. It drops combinations that need more than
// another.
func both(a, b []way) (list []way) {
	var all []way
	for _, x := range a {
		for _, y := range b {
			all = append(all, way{union(x.settings, y.settings), union(x.does, y.does)})
		}
	}
	for i, w := range all {
		if !slices.ContainsFunc(all[:i], w.needs) && !slices.ContainsFunc(all[i+1:], func(v way) bool { return w.needs(v) && !v.needs(w) }) {
			list = append(list, w)
		}
	}
	return list
}

// needs says whether w needs everything that v needs.
func (w way) needs(v way) bool {
	return !slices.ContainsFunc(v.settings, func(s string) bool { return !slices.Contains(w.settings, s) })
}

func union(a, b []string) []string {
	list := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

func names[C any](list []Mechanism[C]) (names []string) {
	for _, m := range list {
		names = append(names, m.String())
	}
	return names
}

func (m Mechanism[C]) String() string { return strings.Join(m.names(), " and ") }

func (m Mechanism[C]) names() (names []string) {
	for _, s := range m.Settings {
		names = append(names, s.Name)
	}
	return names
}

// Unprovided is the promise of a row under settings that do not provide for it.
const Unprovided = "not under these settings"

// Says describes in one sentence what the row promises: under these settings or, if cfg is nil, under any.
func (r *Row[C]) Says(cfg *C) string {
	if cfg == nil {
		return r.saysOfAny()
	}
	if !r.Promised(cfg) {
		return Unprovided
	}
	if released := r.Strikes.names(r.Released(cfg)); len(released) > 0 {
		return "unless struck by " + strings.Join(released, ", ")
	}
	return underEvery
}

const underEvery = "under every fault"

// saysOfAny says what the row promises, and under which settings.
func (r *Row[C]) saysOfAny() string {
	says := underEvery
	if len(r.Takes) > 0 {
		says = "with " + strings.Join(names(r.Takes), ", or with ") + ", " + says
	}
	p := r.Promise("")
	var but, only []string
	for _, g := range p.Groups() {
		switch g.Status {
		case statusPromised:
		case statusWith:
			only = append(only, "; under "+strings.Join(g.Strikes, ", ")+" only with "+g.Why)
		default:
			but = append(but, g.Strikes...)
		}
	}
	if len(but) > 0 {
		says += " but " + strings.Join(but, ", ")
	}
	return says + strings.Join(only, "")
}

// Explain describes an invariant in a few lines of text: its meaning, the strikes under which its row
// promises it, and its source.
func (r *Row[C]) Explain(inv *Invariant) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n\n%s\n\n", inv.Name, inv.Kind, inv.Says)
	switch inv.Kind {
	case Always:
		b.WriteString("Judged after every step, from what the step changed in Redis and in the streams.\n")
	case Eventually:
		b.WriteString("Judged once the faults are over and the world had its time to settle.\n")
	case Sometimes:
		b.WriteString("Never violated: a situation that is worth reaching. A plan that expects it and does not reach it is inconclusive.\n")
	}
	if inv.Kind != Sometimes {
		r.explain(&b, inv.Quiet)
		if inv.OnDemand {
			b.WriteString("Where the settings do not promise it, nearly every run breaks it, and it is judged only if a plan or --judge asks for it.\n")
		}
	}
	if len(inv.Needs) > 0 {
		fmt.Fprintf(&b, "Depends on: %s. Once that is violated, this one is not judged there any more, unless a plan or --judge asks for it.\n", strings.Join(inv.Needs, ", "))
	}
	fmt.Fprintf(&b, "Source: %s.\n", inv.Source)
	return b.String()
}

// explain writes the row in sentences.
func (r *Row[C]) explain(b *strings.Builder, quiet string) {
	b.WriteString("Promised ")
	if len(r.Takes) > 0 {
		fmt.Fprintf(b, "with %s, and then ", strings.Join(names(r.Takes), ", or with "))
	}
	b.WriteString(underEvery)
	if len(r.Except) > 0 {
		b.WriteString(" but those below")
	}
	if len(r.Takes) > 0 {
		b.WriteString("; otherwise nothing is promised")
	}
	b.WriteString(".\n")
	if r.Open.Under != "" {
		fmt.Fprintf(b, "Open: under %s nothing is promised yet: %s.\n", r.Open.Under, r.Open.Says)
	}
	if len(r.Except) == 0 {
		return
	}
	p := Promise{Cells: r.cells()}
	for _, g := range p.Groups() {
		if g.Status == statusPromised {
			continue
		}
		fmt.Fprintf(b, "\n%s:\n", g.heading())
		for _, k := range r.Strikes {
			if slices.Contains(g.Strikes, k.Kind.String()) {
				fmt.Fprintf(b, "  %s: %s\n", k.Kind, k.Says)
			}
		}
	}
	b.WriteString("\nSuch a strike releases the promise for what it reaches. ")
	if quiet != "" {
		fmt.Fprintf(b, "What the invariant forbids is then correct. It counts as the situation %s, and as a violation only if a plan or --judge asks for it.\n", quiet)
		return
	}
	b.WriteString("A violation is then reported as outside the promise.\n")
}

// Group is the strikes of a row with the same entry in the matrix.
type Group struct {
	Status  string
	Strikes []string
	Why     string // the settings that it takes, or why nothing helps
	ways    []way
}

// with describes the settings that the group takes, and the effects of their mechanisms.
func (g *Group) with() string {
	var list []string
	for _, w := range g.ways {
		says := w.String()
		if len(w.does) > 0 {
			says += " (" + strings.Join(w.does, "; ") + ")"
		}
		list = append(list, says)
	}
	return strings.Join(list, ", or with ")
}

// heading describes what holds for the strikes of the group.
func (g *Group) heading() string {
	switch g.Status {
	case statusWith:
		return "Promised only with " + g.with() + ", under"
	case string(Open):
		return "Not promised yet (" + g.Why + "), under"
	}
	return "Never promised, as " + g.Why + ", under"
}

// Groups returns the cells of the row, grouped by their entries, in the order of their first kinds.
func (p *Promise) Groups() (groups []Group) {
	cells := p.Cells
	if p.Open != nil {
		cells = append(slices.Clip(cells), *p.Open)
	}
	for _, c := range cells {
		why := c.Says
		if c.Status == statusWith {
			why = strings.Join(c.With, ", or ")
		}
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Status == c.Status && g.Why == why })
		if i < 0 {
			i, groups = len(groups), append(groups, Group{Status: c.Status, Why: why, ways: c.ways})
		}
		groups[i].Strikes = append(groups[i].Strikes, c.Strike)
	}
	return groups
}
