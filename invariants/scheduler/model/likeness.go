package model

import (
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/invariants"
)

// Likeness hashes what is known of the jobs for which meant is true, and of what belongs to no job. It leaves
// out instants, steps and counts of deliveries. A fault finds the same at two moments with equal likeness, as
// far as events show; they do not show what a process remembers. struck has the strikes that have reached
// each of those jobs, which are not part of the likeness.
func (f *Facts) Likeness(meant func(job string) bool) (likeness uint64, struck []invariants.Kinds) {
	h := xxhash.New()
	f.likenessOfNone(h)
	for _, j := range f.Order {
		if meant(j.ID) {
			f.likenessOf(h, j)
			struck = append(struck, f.StruckBy(j, true))
		}
	}
	return h.Sum64(), append(struck, f.StruckEver())
}

// likenessOfNone hashes processes and loops, and strikes under way.
func (f *Facts) likenessOfNone(h hash.Hash) {
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		if n := f.Nodes[name]; n.Down || n.Silent > 0 || n.Cut > 0 {
			fmt.Fprintln(h, name, n.Down, n.Silent > 0, n.Cut > 0)
		}
	}
	for i := range f.Strikes.windows {
		if w := &f.Strikes.windows[i]; w.open(f.At) {
			fmt.Fprintln(h, w.kind, w.node, w.reach)
		}
	}
	for _, t := range []*Tick{&f.Ticks.Reconciler, &f.Ticks.Replayer, &f.Ticks.Writer} {
		fmt.Fprintln(h, t.Live(f.At), t == &f.Ticks.Writer && len(f.Ticks.Writing) > 0)
	}
	for c := range f.Policy.All {
		fmt.Fprintln(h, f.Policy.All[c].Failures)
	}
	for _, g := range f.Sagas.Order {
		fmt.Fprintln(h, g.ID, g.Stack, g.Due != 0, g.Lock.Live(f.At))
	}
	for _, r := range f.Workflow.Order {
		fmt.Fprintln(h, r.State, r.Lock.Live(f.At), len(r.Hands))
	}
}

func (f *Facts) likenessOf(h hash.Hash, j *Job) {
	fmt.Fprintln(h, j.ID, j.State, j.Attempts, j.Worker, j.Decision, j.Approved, j.Scheduled, j.Requests, j.Cancelled.Worker)
	fmt.Fprintln(h, j.Begun, j.Finished, j.Executing, j.Entered, len(j.Voids), len(j.Told), len(j.Heard), len(j.Terminated))
	fmt.Fprintln(h, j.Intent.Step != 0, j.Intent.Worker, j.Intent.Stored, j.Intent.Lost, j.Queued.Step != 0, j.Queued.Stored, j.Broken)
	for i := range j.Dispatches {
		d := &j.Dispatches[i]
		fmt.Fprintln(h, d.Worker, d.Handed > 0, d.acked, d.settled, d.Begun > 0, d.Lost)
	}
	for i := range j.Messages {
		m := &j.Messages[i]
		fmt.Fprintln(h, m.Consumer, m.Succeeded(), m.Garbled, m.holders(), m.Done, m.Lost, m.Abandoned, m.Guard.Until > f.At)
	}
	for i := range j.Handlings {
		g := &j.Handlings[i]
		fmt.Fprintln(h, g.Node, g.Expires > f.At, g.Scheduled, g.Intended, g.Failed, g.Wrote, g.Published, g.Stored, g.Entered, g.StoreFailed, g.ReadFailed != 0, g.PublishFailed != 0)
	}
	fmt.Fprintln(h, j.Lock.Node, j.Lock.Live(f.At), len(j.Releases), len(j.late))
	if l := f.Replay.Letters[j.ID]; l != nil {
		fmt.Fprintln(h, l.Status, l.ReasonCode, l.ReplayStatus, l.Payload != "", l.Mismatch)
	}
	fmt.Fprintln(h, j.Replay.Of, j.Replay.Count, j.Saga.Recorded, j.Saga.Done != 0, j.Out.Blocked, j.Out.Scanned())
}
