package invariants

import "slices"

// Setting is a setting of the subject, in the terms of promises. C is the settings that judging knows.
type Setting[C any] struct {
	Name string // as a plan spells it; with its value, unless that is true
	On   func(*C) bool
}

// Mechanism is a defence of the subject against strikes. Its name may be empty.
type Mechanism[C any] struct {
	Name     string
	Settings []Setting[C]
}

// On says whether the subject has the mechanism under these settings.
func (m *Mechanism[C]) On(cfg *C) bool {
	return !slices.ContainsFunc(m.Settings, func(s Setting[C]) bool { return !s.On(cfg) })
}

// anyOn says whether one of the mechanisms is on.
func anyOn[C any](list []Mechanism[C], cfg *C) bool {
	return slices.ContainsFunc(list, func(m Mechanism[C]) bool { return m.On(cfg) })
}

// Ruling says what is known of a cell that no setting closes.
type Ruling string

// The rulings.
const (
	Impossible Ruling = "impossible" // the run that breaks it cannot be told from one in which the subject must act the same way
	Open       Ruling = "open"       // it could be closed
)

// Exception is some cells of a row: strikes of these kinds release the promise.
type Exception[C any] struct {
	By   Kinds
	But  []Mechanism[C] // with one of these they do not release it
	Why  Ruling         // if nothing helps
	Says string         // why nobody can promise it, or what would close the cells
}

// Row is the matrix's row for one invariant. The invariant is promised under every strike except the
// exceptions.
type Row[C any] struct {
	Strikes Vocabulary
	Takes   []Mechanism[C] // without one of these nothing is promised; if empty, nothing is required
	Except  []Exception[C]
	Open    Gap // what else releases it, for now
}

// Gap is something other than a strike under which nothing is promised yet. It does not describe what the
// subject did. A checker marks the violations that it finds under a gap. The mark counts only in a row that
// declares the gap.
type Gap struct {
	Under string
	Says  string // what would close it
}

// Promised says whether the row promises anything under these settings.
func (r *Row[C]) Promised(cfg *C) bool { return len(r.Takes) == 0 || anyOn(r.Takes, cfg) }

// Released returns the kinds of strike that release the promise under these settings.
func (r *Row[C]) Released(cfg *C) (set Kinds) {
	for i := range r.Except {
		if e := &r.Except[i]; !anyOn(e.But, cfg) {
			set |= e.By
		}
	}
	return set
}
