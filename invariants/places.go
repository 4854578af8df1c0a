package invariants

// placesMax is how many invariants there can be.
const placesMax = 3 * 64

// places is a set of invariants, by their place in All.
type places [placesMax / 64]uint64

func (p *places) add(i int)          { p[i/64] |= 1 << (i % 64) }
func (p places) has(i int) bool      { return p[i/64]&(1<<(i%64)) != 0 }
func (p places) meets(q places) bool { return p[0]&q[0]|p[1]&q[1]|p[2]&q[2] != 0 }
func (p places) with(q places) places {
	return places{p[0] | q[0], p[1] | q[1], p[2] | q[2]}
}
