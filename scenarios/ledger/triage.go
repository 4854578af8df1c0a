package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Report is what a night came to, held against the ledger.
type Report struct {
	Past
	Before     string    // the commit of the night before it; "" is not known
	Outcomes   []Outcome // by state, new ones first; those that were resolved earlier are left out
	Unexamined int       // runs that broke a promise and were not looked into
}

// Outcome is how a finding stands after a night.
type Outcome struct {
	*Entry
	Seen  *Sighting // nil: the night did not find it
	Alike []string  // other findings of the ledger that hang on the same
}

// Alarming says whether the night is to fail for it: it was not known, or it was thought to be gone.
func (o *Outcome) Alarming() bool { return o.State == New || o.State == Back }

// Alarms counts the outcomes for which the night is to fail.
func (r *Report) Alarms() (n int) {
	for i := range r.Outcomes {
		if r.Outcomes[i].Alarming() {
			n++
		}
	}
	return n
}

// Triage holds a night against the ledger, and enters what came of it. A night that was entered already, or in part, counts
// once, and so does each run. It fails for a night in which nothing was run, and for one before the last.
func (l *Ledger) Triage(n *Night) (*Report, error) {
	past := pastOf(n)
	if past.Plans == 0 {
		return nil, errors.New("no run of these campaigns is over, so that nobody knows what they would have found; run them, or go on with them")
	}
	key := past.key()
	if i := slices.IndexFunc(l.Nights, func(p Past) bool { return p.key() == key }); i >= 0 && i < len(l.Nights)-1 {
		return nil, fmt.Errorf("these campaigns are in %s already, as those of %s, and so is a later night; give those of a night that is not", l.Dir, l.Nights[i].Day)
	} else if i >= 0 {
		past.When = l.Nights[i].When
		l.Nights = l.Nights[:i]
	}
	before := l.counted()
	past.Ran = n.ran()
	for search, runs := range past.Ran {
		past.Ran[search] = max(runs, before.ran[search])
	}
	r := &Report{Past: past, Unexamined: n.unexamined()}
	if last := len(l.Nights) - 1; last >= 0 {
		if l.Nights[last].Day > past.Day {
			return nil, fmt.Errorf("the last night in %s is that of %s, and nights are entered in their order; this one is of %s", l.Dir, l.Nights[last].Day, past.Day)
		}
		r.Before = l.Nights[last].Commit
	}
	seen, again, ran := n.sightings(), n.fresh(before).sightings(), n.plans(before, "")
	for name, s := range seen {
		e := l.entry(name)
		hits := again[name]
		if e == nil {
			e = &Entry{Ledger: 1, Fingerprint: s.Finding.Fingerprint(), First: past.When}
			l.Entries = append(l.Entries, e)
			hits = s
		}
		if e.Counted != key {
			if err := e.found(s, hits, ran, past.When); err != nil {
				return nil, err
			}
			e.Counted = key
		}
	}
	slices.SortFunc(l.Entries, func(a, b *Entry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range l.Entries {
		if e.Counted != key && e.State != Resolved {
			e.clean(n.plans(before, e.Fingerprint.Invariant), past.When)
			e.Counted = key
		}
		if e.State != Resolved || e.Counted == key {
			r.Outcomes = append(r.Outcomes, Outcome{Entry: e, Seen: seen[e.Name()], Alike: l.alike(e)})
		}
	}
	r.sum()
	l.Nights = append(l.Nights, r.Past)
	return r, nil
}

// counted is what the nights that are kept have counted.
func (l *Ledger) counted() counted {
	before := counted{map[string]bool{}, map[string]int{}}
	for _, p := range l.Nights {
		for _, key := range p.Keys {
			before.keys[key] = true
		}
		for search, runs := range p.Ran {
			before.ran[search] = max(before.ran[search], runs)
		}
	}
	return before
}

// sum counts the outcomes, and puts them in order.
func (r *Report) sum() {
	order := []State{New, Back, Ongoing, Resolved}
	slices.SortStableFunc(r.Outcomes, func(a, b Outcome) int {
		return cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State))
	})
	for _, o := range r.Outcomes {
		switch o.State {
		case New:
			r.New++
		case Back:
			r.Back++
		case Ongoing:
			r.Ongoing++
		case Resolved:
			r.Resolved++
		}
	}
}

// found enters a night that found it. hits is how often campaigns did that were not counted yet, nil if none did; ran is how
// many plans of each kind they ran.
func (e *Entry) found(s, hits *Sighting, ran map[string]int, when When) error {
	plan, err := plans.Parse(s.File, []byte(s.Finding.Plan))
	if err != nil {
		return fmt.Errorf("%s, as %s has it: %w", s.File, s.Dir, err)
	}
	switch e.State {
	case "":
		e.State = New
	case Resolved:
		e.State = Back
	default:
		e.State = Ongoing
	}
	if e.State != Back {
		e.Clean = When{}
	}
	e.Plan, e.Cause, e.Blamed, e.Last = plan, s.Cause, s.Blamed, when
	if hits != nil {
		for _, of := range hits.Counts {
			c := countOf(&e.Seen, of.Campaign)
			c.Hits += of.Hits
			c.Plans += max(0, of.Plans-ran[of.Campaign]) // of one that is new here, and not in the ledger
		}
	}
	for i := range e.Seen {
		c := &e.Seen[i]
		if e.State != Back {
			c.Plans += c.Clean // it was there, and they did not hit it
		}
		c.Clean = 0
		c.Plans += ran[c.Campaign]
	}
	return nil
}

// clean enters a night that did not find it. ran is how many plans of each kind say so.
func (e *Entry) clean(ran map[string]int, when When) {
	any := false
	for i := range e.Seen {
		e.Seen[i].Clean += ran[e.Seen[i].Campaign]
		any = any || ran[e.Seen[i].Campaign] > 0
	}
	switch {
	case !any:
		e.State = Ongoing // nobody looked for it
		return
	case e.Clean == (When{}) || e.State == Back:
		e.Clean = when
	}
	e.State = Ongoing
	if doubt(e.Seen) <= Doubted {
		e.State = Resolved
	}
}

// alike are the names of other findings that hang on the same, and are not gone.
func (l *Ledger) alike(e *Entry) (names []string) {
	for _, other := range l.Entries {
		if other != e && other.State != Resolved && len(e.Blamed) > 0 && other.Fingerprint.Invariant == e.Fingerprint.Invariant && slices.Equal(other.Blamed, e.Blamed) {
			names = append(names, other.Name())
		}
	}
	return names
}
