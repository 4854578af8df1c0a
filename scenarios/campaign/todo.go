package campaign

import "slices"

// todo is the set of runs that are still to be handed out.
type todo struct {
	span        // of all runs
	next  int   // no run from here on was ever handed out
	again []int // runs that were handed out and came back; sorted
	done  set
}

// newTodo returns a todo with all runs of a span.
func newTodo(s span) todo { return todo{span: s, next: s.first} }

// rangeMax is the largest number of runs in an assignment: enough that no worker waits for the next, and few
// enough that all workers end at about the same time.
const rangeMax = 8

// take hands out the lowest numbers, to one of so many workers. A count of 0 means that none is left.
func (t *todo) take(workers int) (first, count int) {
	most := rangeMax
	if t.end != endless {
		most = min(most, max(1, (t.end-t.next)/(4*workers)))
	}
	if len(t.again) > 0 {
		for first = t.again[0]; count < most && len(t.again) > 0 && t.again[0] == first+count; count++ {
			t.again = t.again[1:]
		}
		return first, count
	}
	for t.done.has(t.next) {
		t.next++
	}
	for first = t.next; count < most && t.has(t.next) && !t.done.has(t.next); count++ {
		t.next++
	}
	return first, count
}

// back returns a run that was handed out and not done.
func (t *todo) back(n int) {
	if i, there := slices.BinarySearch(t.again, n); !there && !t.done.has(n) {
		t.again = slices.Insert(t.again, i, n)
	}
}

// empty says whether all runs are handed out.
func (t *todo) empty() bool {
	for t.done.has(t.next) {
		t.next++
	}
	return len(t.again) == 0 && !t.has(t.next)
}

// set is a set of numbers from 0, with a bit for each.
type set []uint64

func (s set) has(n int) bool { return n/64 < len(s) && s[n/64]&(1<<(n%64)) != 0 }

func (s *set) add(n int) {
	for n/64 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[n/64] |= 1 << (n % 64)
}

func (s set) remove(n int) {
	if n/64 < len(s) {
		s[n/64] &^= 1 << (n % 64)
	}
}
