package model

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Filing is what is known of the DLQ entry of a job, of a message or of a compensation.
type Filing struct {
	Entered    bool          // it exists
	Code       string        // the reason code of its last write
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

// FileLetter notes that an entry is written or gone. An existing entry that is written again keeps the rest
// of its lifetime.
func (f *Facts) FileLetter(s *Step, e *Filing, c *sim.Change) {
	least := s.At + f.Config.DLQEntryTTL
	if e.Entered && s.At < e.DlqExpires {
		least = min(least, e.DlqExpires)
	}
	if l := f.lastsAtLeast(s, c, least); !c.Gone && !s.Rewinds() && l.Amiss {
		e.DlqAmiss = l
	}
	e.Entered, e.DlqExpires = !c.Gone, c.Expires
	if entry, err := history.Read[history.DeadLetter](c.Value); err == nil && !c.Gone {
		e.Code = entry.ReasonCode
	}
}

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
