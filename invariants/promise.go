package invariants

import "slices"

// Setting is something that the subject can be set to, as promises speak of it. C is what judging knows of the settings.
type Setting[C any] struct {
	Name string // as a plan spells it, with its value if that is no yes
	On   func(*C) bool
}

// Mechanism is what the subject has to set against strikes. Its name may be empty.
type Mechanism[C any] struct {
	Name     string
	Settings []Setting[C]
}

// On says whether the subject has it, under these settings.
func (m *Mechanism[C]) On(cfg *C) bool {
	return !slices.ContainsFunc(m.Settings, func(s Setting[C]) bool { return !s.On(cfg) })
}

// anyOn says whether one of them is on.
func anyOn[C any](list []Mechanism[C], cfg *C) bool {
	return slices.ContainsFunc(list, func(m Mechanism[C]) bool { return m.On(cfg) })
}

// Ruling says what is known of a cell that no setting closes.
type Ruling string

// The rulings.
const (
	Impossible Ruling = "impossible" // nobody can tell the run that breaks it from one in which the subject must do what it does
	Open       Ruling = "open"       // it could be closed
)

// Exception is some cells of a row: strikes of these kinds release the promise.
type Exception[C any] struct {
	By   Kinds
	But  []Mechanism[C] // with one of these they do not
	Why  Ruling         // where nothing helps
	Says string         // why nobody can promise it; or what would close it
}

// Row is what the matrix says of one invariant: it is promised under every strike but the exceptions.
type Row[C any] struct {
	Strikes Vocabulary
	Takes   []Mechanism[C] // without one of these nothing is promised; none: it takes nothing
	Except  []Exception[C]
	Open    Gap // what else releases it, for now
}

// Gap is something besides a strike under which nothing is promised yet. It says nothing of what the subject did. A checker
// that finds a violation under it says so; that counts only for a row that declares the gap.
type Gap struct {
	Under string
	Says  string // what would close it
}

// Promised says whether the row promises anything under these settings.
func (r *Row[C]) Promised(cfg *C) bool { return len(r.Takes) == 0 || anyOn(r.Takes, cfg) }

// Released are the kinds of strike that release the promise under these settings.
func (r *Row[C]) Released(cfg *C) (set Kinds) {
	for i := range r.Except {
		if e := &r.Except[i]; !anyOn(e.But, cfg) {
			set |= e.By
		}
	}
	return set
}
