package invariants

import (
	"fmt"
	"slices"
	"strings"
)

// Promise is one row of the promise matrix, in words.
type Promise struct {
	Invariant string   `json:"invariant"`
	Takes     []string `json:"takes,omitempty"` // settings, each of which will do; without one nothing is promised
	Cells     []Cell   `json:"cells"`           // one for each kind of strike
	Open      *Cell    `json:"open,omitempty"`  // something besides a strike under which nothing is promised yet
}

// Cell is what the matrix says of one invariant under one kind of strike.
type Cell struct {
	Strike string   `json:"strike"`
	Status string   `json:"status"`         // "promised", "promised with", "impossible" or "open"
	With   []string `json:"with,omitempty"` // settings, each of which will do
	Says   string   `json:"says,omitempty"` // two runs that nobody can tell apart, or what would close it
}

// The statuses of a cell that settings decide about; the others are verdicts.
const (
	statusPromised = "promised"
	statusWith     = "promised with"
)

// Promises is the promise matrix: a row for each invariant but the situations.
func Promises() (list []Promise) {
	for _, inv := range all() {
		if inv.Kind == Sometimes {
			continue
		}
		p := Promise{Invariant: inv.Name, Takes: names(inv.row.takes)}
		for _, k := range StrikeKinds() {
			p.Cells = append(p.Cells, inv.row.cell(k))
		}
		if g := inv.row.open; g.under != "" {
			p.Open = &Cell{Strike: g.under, Status: string(openCell), Says: g.says}
		}
		list = append(list, p)
	}
	return list
}

// cell is the row's cell for one kind: of several exceptions the one that least helps against.
func (r *row) cell(k StrikeKind) Cell {
	c := Cell{Strike: k.String(), Status: statusPromised}
	for _, e := range r.except {
		switch {
		case !e.by.has(k):
		case len(e.but) == 0:
			return Cell{Strike: k.String(), Status: string(e.why), Says: e.says}
		case c.Status == statusPromised:
			c.Status, c.With = statusWith, names(e.but)
		default:
			c.With = both(c.With, names(e.but))
		}
	}
	return c
}

// both joins alternatives of which one of each list is needed.
func both(a, b []string) (list []string) {
	for _, x := range a {
		for _, y := range b {
			list = append(list, x+" and "+y)
		}
	}
	return list
}

func names(list []mechanism) (names []string) {
	for _, m := range list {
		names = append(names, m.String())
	}
	return names
}

func (m mechanism) String() string {
	names := make([]string, len(m.settings))
	for i, s := range m.settings {
		names[i] = s.name
	}
	return strings.Join(names, " and ")
}

// says tells in one sentence what the row promises: under these settings, or under any if cfg is nil.
func (r *row) says(cfg *Config) string {
	prefix := ""
	switch {
	case cfg != nil && !r.promised(cfg):
		return "not under these settings"
	case cfg == nil && len(r.takes) > 0:
		prefix = "with " + strings.Join(names(r.takes), ", or with ") + ", "
	}
	var parts []string
	for _, e := range r.except {
		if cfg != nil && anyOn(e.but, cfg) {
			continue
		}
		without := ""
		if cfg == nil && len(e.but) > 0 {
			without = "without " + strings.Join(names(e.but), " or ") + ", "
		}
		parts = append(parts, without+strings.Join(kindNames(e.by), ", "))
	}
	if len(parts) == 0 {
		return prefix + "under every fault"
	}
	return prefix + "unless struck by " + strings.Join(parts, "; or ")
}

func kindNames(set kinds) (names []string) {
	for _, k := range set.list() {
		names = append(names, k.String())
	}
	return names
}

// Explain says what the invariant of that name means, under which strikes it is promised and where
// it comes from, in a few lines of text.
func Explain(name string) (text string, ok bool) {
	inv, ok := Find(name)
	if !ok {
		return "", false
	}
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
		inv.row.explain(&b)
		if inv.OnDemand {
			b.WriteString("Where the settings do not promise it, nearly every run breaks it, and it is judged only if a plan or --judge asks for it.\n")
		}
	}
	if len(inv.Needs) > 0 {
		fmt.Fprintf(&b, "Depends on: %s. Once that is violated, this one is no longer judged there.\n", strings.Join(inv.Needs, ", "))
	}
	fmt.Fprintf(&b, "Source: %s.\n", inv.Source)
	return b.String(), true
}

// explain writes the row in plain sentences.
func (r *row) explain(b *strings.Builder) {
	if len(r.takes) > 0 {
		fmt.Fprintf(b, "Promised with %s; otherwise nothing is promised.\n", strings.Join(names(r.takes), ", or with "))
	}
	if r.open.under != "" {
		fmt.Fprintf(b, "Open: under %s nothing is promised yet: %s.\n", r.open.under, r.open.says)
	}
	list := r.except
	if len(list) == 0 {
		b.WriteString("Promised: under every fault.\n")
		return
	}
	b.WriteString("Promised: under every fault but these:\n")
	for _, e := range list {
		for _, k := range e.by.list() {
			fmt.Fprintf(b, "  %s: %s\n", k, k.Says())
		}
		switch {
		case len(e.but) == 0:
			fmt.Fprintf(b, "    %s: %s\n", e.why, e.says)
		default:
			for _, m := range e.but {
				fmt.Fprintf(b, "    closed by %s", m)
				if m.name != "" {
					fmt.Fprintf(b, ": %s", m.name)
				}
				b.WriteString("\n")
			}
		}
	}
	b.WriteString("Such a strike releases the promise for what it reaches. A violation is then reported as outside the promise.\n")
}

// Group is the strikes of a row of which the matrix says the same.
type Group struct {
	Status  string
	Strikes []string
	Why     string // the settings that it takes, or why nothing helps
}

// Groups are the cells of the row by what the matrix says of them, the first kind's first.
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
			i, groups = len(groups), append(groups, Group{Status: c.Status, Why: why})
		}
		groups[i].Strikes = append(groups[i].Strikes, c.Strike)
	}
	return groups
}
