package model

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Filing is what is known of the DLQ entry of a job, of a message or of a compensation.
type Filing struct {
	Entered    bool // it exists
	Says       history.DeadLetter
	DlqExpires time.Duration // when it expires; 0 if it does not
	DlqAmiss   Lasting       // its last write with a wrong lifetime; zero if there is none
}

// Lasting is how long something written lasts, and how long it should last at least; 0 is for ever.
type Lasting struct {
	Step       int
	Is, Should time.Duration
	Amiss      bool // it lasts too short, or longer than an entry may
}

// lasts returns the lifetime of a change that should last as long as a DLQ entry.
func (f *Facts) lasts(s *Step, c *sim.Change) Lasting {
	return f.lastsAtLeast(s, c, s.At+f.Config.DLQEntryTTL)
}

func (f *Facts) lastsAtLeast(s *Step, c *sim.Change, least time.Duration) Lasting {
	return Lasting{
		Step: s.Step, Is: max(c.Expires-s.At, 0), Should: least - s.At,
		Amiss: c.Expires+Slack < least || c.Expires > s.At+f.Config.DLQEntryTTL+Slack,
	}
}

// FileLetter notes that the entry of that ID is written or gone. An existing entry that is written again keeps the
// rest of its lifetime.
func (f *Facts) FileLetter(s *Step, id string, e *Filing, c *sim.Change) {
	least, there := s.At+f.Config.DLQEntryTTL, e.Entered && s.At < e.DlqExpires
	if there {
		least = min(least, e.DlqExpires)
	}
	l := f.lastsAtLeast(s, c, least)
	if there && ChangesLetter(s) && s.Kind != sim.KindLate {
		l.Amiss = l.Amiss || c.Expires > e.DlqExpires+f.changing(s, id)
	}
	if !c.Gone && !s.Rewinds() && l.Amiss {
		e.DlqAmiss = l
	}
	e.Entered, e.DlqExpires = !c.Gone, c.Expires
	is, err := history.Read[history.DeadLetter](c.Value)
	if c.Gone || err != nil {
		return
	}
	was := e.Says
	if e.Says = *is; s.Rewinds() {
		return
	}
	for _, check := range f.Hooks.LetterFiled {
		check(s, id, &was, is)
	}
}

// changing returns how long a change of an entry may have been under way. The writer gives the entry the lifetime that was left when
// the writer read it. If several people have errands on the entry, events do not show whose read it was, and changing returns the
// whole lifetime.
func (f *Facts) changing(s *Step, id string) time.Duration {
	if len(f.Config.Replay.Errands[id]) > 1 {
		return f.Config.DLQEntryTTL
	}
	return s.At - f.glanceOf(s, id).at + f.Config.StoreOpTimeout
}

// glanceOf is the last read of a job's dead letter by the step's process.
func (f *Facts) glanceOf(s *Step, id string) glance {
	return f.Replay.read[letterOf{invariants.Process(s.Node, s.Incarnation), id}]
}

// ChangesLetter says whether a step changes an existing dead letter.
func ChangesLetter(s *Step) bool { return s.Phase == "dlq_update" }

// Letter returns the entry with that ID that belongs to no job: to a message, by its place, or to a
// compensation.
func (f *Facts) Letter(id string) *Filing {
	e := f.Filed[id]
	if e == nil {
		if f.Filed == nil {
			f.Filed = map[string]*Filing{}
		}
		e = &Filing{}
		f.Filed[id] = e
	}
	return e
}

// HasLetter says whether there is an entry with that ID that belongs to no job.
func (f *Facts) HasLetter(id string) bool {
	e := f.Filed[id]
	return e != nil && e.Entered
}
