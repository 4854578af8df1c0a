package faults

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// refusal is an error reply of Redis.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

// refusedWith is the error with which Redis refuses op, or "".
func (in *Injector) refusedWith(op *sim.Op) refusal {
	if op.Kind != sim.KindRedis {
		return ""
	}
	for _, i := range in.refusing {
		for _, r := range refusals {
			if r.with == in.fired[i].Fault.With && r.refuses(op) {
				return refusal(r.text)
			}
		}
	}
	return ""
}

// refused is the outcome of op, whose effect is apply, if Redis refuses it. Redis refuses each command of a
// transaction when it is to be queued, and then the EXEC.
func refused(op *sim.Op, with refusal, apply func() error) error {
	if op.Name == sim.NameMulti {
		return op.Abort(apply)
	}
	return with
}

// refuse makes Redis refuse commands for a while.
func (in *Injector) refuse(w *sim.World, i int, lasts time.Duration) {
	in.refusing = append(in.refusing, i)
	in.lasts(w, i, lasts, "accept", Redis, func() {
		in.refusing = slices.DeleteFunc(in.refusing, func(k int) bool { return k == i })
	})
}
