package faults

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// refusal is an error that Redis answers.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

// refused says whether Redis refuses op, whose effect is apply, and what it answers. Of a transaction it refuses each command as it
// is to be queued, and then the EXEC.
func (in *Injector) refused(op *sim.Op, apply func() error) (refuses bool, answer error) {
	if op.Kind != sim.KindRedis {
		return false, nil
	}
	for _, i := range in.refusing {
		for _, r := range refusals {
			switch {
			case r.with != in.fired[i].Fault.With || !r.refuses(op):
			case op.Name == sim.NameMulti:
				return true, injectedError{op.Abort(apply)}
			default:
				return true, injectedError{refusal(r.text)}
			}
		}
	}
	return false, nil
}

// refuse has Redis refuse commands for a while.
func (in *Injector) refuse(w *sim.World, i int, lasts time.Duration) {
	in.refusing = append(in.refusing, i)
	in.under++
	w.At(w.Now()+lasts, "accept", Redis, func() {
		in.under--
		in.fired[i].Until = w.Now()
		in.refusing = slices.DeleteFunc(in.refusing, func(k int) bool { return k == i })
	})
}
