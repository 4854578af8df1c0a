package sim

import "github.com/cespare/xxhash/v2"

// Draw is the root of every choice: a hash of the seed and of what the choice is about. It is no stream of
// numbers, so leaving one operation out shifts no other choice.
func Draw(seed uint64, purpose string, parts ...string) uint64 {
	var buf [256]byte
	b := buf[:0]
	for i := range 8 {
		b = append(b, byte(seed>>(8*i)))
	}
	b = append(b, purpose...)
	for _, p := range parts {
		b = append(b, 0)
		b = append(b, p...)
	}
	return xxhash.Sum64(b)
}

// counter numbers the occurrences of whatever its keys describe. It keys by hashes, in two halves. Aligned to
// four bytes, a key and its number take twelve bytes; in a run of many jobs they are most of what has to be
// kept.
type counter map[[2]uint32]uint32

func (c counter) next(hash uint64) uint64 {
	key := [2]uint32{uint32(hash), uint32(hash >> 32)}
	c[key]++
	return uint64(c[key])
}

// mix combines a keyed hash with an occurrence (the finaliser of splitmix64).
func mix(h, n uint64) uint64 {
	h += n * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
