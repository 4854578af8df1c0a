package invariants

// PlacesMax is how many invariants there can be.
const PlacesMax = 4 * 64

// Places is a set of invariants, by their places among all.
type Places [PlacesMax / 64]uint64

// Add puts the invariant of a place into the set.
func (p *Places) Add(i int) { p[i/64] |= 1 << (i % 64) }

// Meets says whether the sets have an invariant in common.
func (p Places) Meets(q Places) bool { return p[0]&q[0]|p[1]&q[1]|p[2]&q[2]|p[3]&q[3] != 0 }
