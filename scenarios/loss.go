package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// loss is what went with one failover of Redis.
type loss struct {
	at   time.Duration
	keys int // that hold again what they held before, or nothing
}

// rewound is a job's record going back to what it was before; to is "" if there was none.
type rewound struct {
	at       time.Duration
	from, to string // states; equal if other fields were lost
}

// failover says whether the event is one of Redis.
func failover(e *sim.Event) bool {
	return e.Kind == sim.KindControl && e.Name == string(faults.Failover)
}

func (r *record) lost(e *sim.Event) {
	keys := map[string]bool{}
	for i := range e.Changes {
		keys[e.Changes[i].Key] = true
	}
	r.losses = append(r.losses, loss{e.At, len(keys)})
}

// tellLosses says what the failovers took.
func (r *record) tellLosses() (told []string) {
	for _, l := range r.losses {
		text := fmt.Sprintf("Redis failed over at %s", at(l.at))
		if l.keys == 0 {
			told = append(told, text+", and nothing was lost: nobody had written within the lag.")
			continue
		}
		var back, gone []string
		for _, j := range r.jobs {
			for _, w := range j.rewound {
				switch {
				case w.at != l.at:
				case w.to == "":
					gone = append(gone, j.ID)
				default:
					back = append(back, j.ID)
				}
			}
		}
		text += fmt.Sprintf(", and lost its last writes, to %s", count(l.keys, "key"))
		if len(back) > 0 {
			text += fmt.Sprintf("; back in an earlier state: %s", some(back))
		}
		if len(gone) > 0 {
			text += fmt.Sprintf("; without a record: %s", some(gone))
		}
		told = append(told, text+".")
	}
	return told
}

// some names a few, and counts the others.
func some(ids []string) string {
	if len(ids) > aboutMax {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:aboutMax], ", "), len(ids)-aboutMax)
	}
	return strings.Join(ids, ", ")
}

// lostStates tell of what failovers took from the job.
func (j *jobRecord) lostStates() (all []clause) {
	for _, w := range j.rewound {
		text := fmt.Sprintf("the failover at %s took it back from %s to %s", at(w.at), w.from, w.to)
		if w.to == "" {
			text = fmt.Sprintf("the failover at %s took its record (%s)", at(w.at), w.from)
		}
		all = append(all, clause{w.at, text})
	}
	return all
}
