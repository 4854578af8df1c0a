package invariants

// PlacesMax is the largest number of invariants.
const PlacesMax = 4 * 64

// Places is a set of invariants, by their positions in the list of all.
type Places [PlacesMax / 64]uint64

// Add adds the invariant at position i.
func (p *Places) Add(i int) { p[i/64] |= 1 << (i % 64) }

// Meets says whether the sets have an invariant in common.
func (p Places) Meets(q Places) bool { return p[0]&q[0]|p[1]&q[1]|p[2]&q[2]|p[3]&q[3] != 0 }
