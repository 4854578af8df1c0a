package export

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// lasting is what a node is at for a while.
type lasting struct {
	node, job string
	what      string // handles, executes or locks
	name      string
	from, to  time.Duration
	step      int // with which it began
	slot      int // among those of its node and kind that are under way at once, from 0
	message   message
}

// message is a message of a stream.
type message struct {
	subject string
	seq     uint64
}

func (m message) id() uint64 { return hash(m.subject, itoa(m.seq)) }

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

// hash tells names apart, the same way on every machine.
func hash(parts ...string) uint64 {
	h := xxhash.Sum64String(strings.Join(parts, "\x00"))
	return max(h, 1) // 0 is none
}

// follower follows what is under way.
type follower struct {
	open map[string]*lasting // by kind, node and key
	busy map[string][]bool   // by kind and node: which slots
}

func newFollower() *follower {
	return &follower{open: map[string]*lasting{}, busy: map[string][]bool{}}
}

// waits says whether the step is nothing but waiting.
func waits(e *sim.Event) bool {
	return e.Kind == sim.KindTimer || e.Kind == sim.KindFetch || e.Kind == sim.KindFetchEnd
}

// next says what begins with the step, and what ends with it.
func (f *follower) next(e *sim.Event) (begun, ended []*lasting) {
	m := message{e.Target, e.Seq}
	key := "handles " + e.Node + " " + m.subject + " " + itoa(m.seq)
	switch e.Kind {
	case sim.KindDeliver:
		begun, ended = f.begin(key, &lasting{node: e.Node, job: e.Job, what: "handles", name: "handles " + e.Target, from: e.At, step: e.Step, message: m})
	case sim.KindAck, sim.KindNak, sim.KindTerm:
		ended = f.end(key, e.At)
	case history.KindEffect:
		key = "executes " + e.Node + " " + e.Job
		if e.Name != "begin" {
			return nil, f.end(key, e.At)
		}
		begun, ended = f.begin(key, &lasting{node: e.Node, job: e.Job, what: "executes", name: "executes " + e.Job, from: e.At, step: e.Step})
	case sim.KindControl:
		if e.Name == "crash" {
			ended = f.leave(e.Target, e.At)
		}
	}
	for _, change := range e.Changes {
		id, is := strings.CutPrefix(change.Key, history.LockPrefix)
		if !is {
			continue
		}
		key := "locks " + change.Key
		if change.Gone {
			ended = append(ended, f.end(key, e.At)...)
			continue
		}
		holder, _, _ := strings.Cut(change.Value, ":")
		if now := f.open[key]; now == nil || now.node != holder {
			b, e := f.begin(key, &lasting{node: holder, job: id, what: "locks", name: "locks " + id, from: e.At, step: e.Step})
			begun, ended = append(begun, b...), append(ended, e...)
		}
	}
	return begun, ended
}

func (f *follower) begin(key string, l *lasting) (begun, ended []*lasting) {
	ended = f.end(key, l.from)
	slots := f.busy[l.what+" "+l.node]
	if l.slot = slices.Index(slots, false); l.slot < 0 {
		l.slot = len(slots)
		slots = append(slots, true)
	}
	slots[l.slot] = true
	f.busy[l.what+" "+l.node] = slots
	f.open[key] = l
	return []*lasting{l}, ended
}

func (f *follower) end(key string, at time.Duration) []*lasting {
	l := f.open[key]
	if l == nil {
		return nil
	}
	delete(f.open, key)
	f.busy[l.what+" "+l.node][l.slot] = false
	l.to = at
	return []*lasting{l}
}

// leave ends what a node is at that is gone. Redis keeps its locks.
func (f *follower) leave(node string, at time.Duration) []*lasting {
	return f.endThose(at, func(l *lasting) bool { return l.node == node && l.what != "locks" })
}

// rest ends what is still under way at the end of the run.
func (f *follower) rest(at time.Duration) []*lasting {
	return f.endThose(at, func(*lasting) bool { return true })
}

func (f *follower) endThose(at time.Duration, those func(*lasting) bool) (ended []*lasting) {
	for key, l := range f.open {
		if those(l) {
			ended = append(ended, f.end(key, at)...)
		}
	}
	slices.SortFunc(ended, func(a, b *lasting) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.name, b.name)) })
	return ended
}

// during is what the step is part of: what its node is at for its job, and began last.
func (f *follower) during(e *sim.Event) *lasting {
	var last *lasting
	for _, l := range f.open {
		if l.node == e.Node && l.job == e.Job && l.what != "locks" && (last == nil || l.step > last.step) {
			last = l
		}
	}
	return last
}

// title names a step in a few words.
func title(e *sim.Event) string {
	words := strings.TrimSpace(string(e.Kind) + " " + e.Name)
	switch {
	case e.Phase != "" && e.Kind == sim.KindRedis:
		return e.Phase + " (" + e.Name + ")"
	case e.Phase != "":
		return e.Phase
	case e.Target != "":
		return words + " " + e.Target
	}
	return words
}
