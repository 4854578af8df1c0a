package axis

import (
	"slices"
	"time"
)

// How many steps a picture holds at most: a page of it stays below a megabyte.
const (
	decisiveMax = 1000 // that broke something, or are on the path to the violation that the page explains
	followedMax = 3000 // of the jobs that the page follows
	strikingMax = 3000 // that were struck, and of the harness
	othersMax   = 2000 // of other jobs
	keepingMax  = 700  // of no job, evenly over the run
)

// marks are the steps that the picture holds.
type marks struct {
	list     []Mark
	decisive int
	followed int
	striking int
	others   int
	keeping  int
	every    int // of the steps of no job one in so many is kept
	passed   int // of those, since the last that was kept
	left     int
	leftFrom time.Duration // when the first of another job was left out
	lost     int           // the first of a followed job that was left out
	struck   int           // the first that was left out of those that were struck
}

// room says whether there is room for a step, and takes it.
func (m *marks) room(step int, at time.Duration, decisive, striking, followed bool, kind Kind) bool {
	var taken bool
	switch {
	case decisive:
		taken = count(&m.decisive, decisiveMax)
	case striking:
		if taken = count(&m.striking, strikingMax); !taken && m.struck == 0 {
			m.struck = step
		}
	case followed:
		taken = count(&m.followed, followedMax)
	case kind == Keeping:
		m.passed++
		if taken = m.passed >= m.every; taken {
			m.passed = 0
			m.keeping++
		}
	default:
		if taken = count(&m.others, othersMax); !taken && m.leftFrom == 0 {
			m.leftFrom = at
		}
	}
	if !taken {
		m.left++
		if followed && m.lost == 0 {
			m.lost = step
		}
	}
	return taken
}

func count(n *int, most int) bool {
	if *n == most {
		return false
	}
	*n++
	return true
}

// thin leaves out every second step of no job once there are too many, and from then on as many of those to come. It returns
// where the marks are then, and -1 for those that are left out; nil if nothing was.
func (m *marks) thin(stays func(i int) bool) (moved []int) {
	if m.keeping <= keepingMax {
		return nil
	}
	m.every = max(2, 2*m.every)
	keep, odd := m.list[:0], false
	for i, mark := range m.list {
		if mark.thins && !stays(i) {
			if odd = !odd; !odd {
				moved = append(moved, -1)
				m.keeping--
				m.left++
				continue
			}
		}
		moved = append(moved, len(keep))
		keep = append(keep, mark)
	}
	m.list = slices.Clip(keep)
	return moved
}
