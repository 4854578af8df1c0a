package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-sim/faultline/engine/phase"
	"github.com/faultline-sim/faultline/scenarios/world"
	"github.com/faultline-sim/faultline/sim"
)

// duration says d to three significant digits, in the unit that a person would use.
func duration(d time.Duration) string {
	if d < 0 {
		return "-" + duration(-d)
	}
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < 999500*time.Nanosecond:
		return significant(float64(d)/1e3) + " µs"
	case d < 999500*time.Microsecond:
		return significant(float64(d)/1e6) + " ms"
	case d < 59950*time.Millisecond:
		return significant(d.Seconds()) + " s"
	}
	d = d.Round(time.Second)
	if d < time.Hour {
		return join(int64(d/time.Minute), "min", int64(d%time.Minute/time.Second), "s")
	}
	d = d.Round(time.Minute)
	return join(int64(d/time.Hour), "h", int64(d%time.Hour/time.Minute), "min")
}

func join(a int64, unitA string, b int64, unitB string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unitA)
	}
	return fmt.Sprintf("%d %s %d %s", a, unitA, b, unitB)
}

func significant(v float64) string {
	digits := 2 - int(math.Floor(math.Log10(v)))
	s := strconv.FormatFloat(v, 'f', max(digits, 0), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// clock says an instant to the microsecond, so that a column of them lines up.
func clock(at time.Duration) string {
	return fmt.Sprintf("%d.%06d", at/time.Second, at%time.Second/time.Microsecond)
}

// count says n with its thousands apart.
func count[N int | uint64](n N) string {
	s := strconv.FormatUint(uint64(max(n, 0)), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted says "1 step", "2 steps"; plural is for nouns that do not take an s.
func counted(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(plural) > 0:
		return count(n) + " " + plural[0]
	}
	return count(n) + " " + noun + "s"
}

// list says "a", "a and b", "a, b and c".
func list(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " and " + items[len(items)-1]
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return count(n) + suffix
}

// record is what a job's hash holds, as the changes of the trace tell it.
type record struct {
	state, attempts, worker string
}

// apply takes over what a step changed in the record of job.
func (r *record) apply(job string, changes []sim.Change) (changed bool) {
	for _, c := range changes {
		if c.Key != "job:"+job {
			continue
		}
		if c.Gone && c.Field == "" {
			*r, changed = record{}, true
		}
		switch c.Field {
		case "state":
			r.state, changed = c.Value, true
		case "attempts":
			r.attempts, changed = c.Value, true
		case "worker":
			r.worker, changed = c.Value, true
		}
	}
	return changed
}

func (r record) String() string {
	switch {
	case r.state == "":
		return "no record"
	case r.attempts == "" || r.attempts == "0":
		return r.state
	}
	return r.state + ", attempts " + r.attempts
}

// writes are the phases that write one state, and that state.
var writes = map[phase.Phase]string{
	phase.SubmitWrite:     "PENDING",
	phase.PendingWrite:    "PENDING",
	phase.ScheduledWrite:  "SCHEDULED",
	phase.DispatchedWrite: "DISPATCHED",
	phase.RollbackWrite:   "SCHEDULED",
	phase.RunningWrite:    "RUNNING",
	phase.FailedWrite:     "FAILED",
	phase.ResultWrite:     "terminal state",
}

// controls are what the harness does to a node, as seen from the node.
var controls = map[string]string{
	"crash": "crashes", "restart": "restarts", "partition": "is cut off", "heal": "is whole again",
	"partition redis": "is cut off from Redis", "heal redis": "reaches Redis again", "partition nats": "is cut off from NATS", "heal nats": "reaches NATS again",
	"pause": "stands still", "resume": "goes on", "stop": "stops", "start": "starts again", "reconnect": "connects to NATS again",
}

// messages are the kinds of message that deliver, ack, nak and term phases begin with.
var messages = map[string]string{"submit": "submission", "result": "result", "job": "dispatch"}

// describe says e in words. now is the record of the job that e is about, after e; changed is
// whether e changed it.
func describe(e sim.Event, now record, changed bool) string {
	switch e.Kind {
	case sim.KindRedis:
		return describeRedis(e, now, changed)
	case sim.KindPublish:
		return "publishes " + e.Target + stored(e)
	case sim.KindDeliver, sim.KindAck, sim.KindNak, sim.KindTerm, sim.KindProgress:
		return describeMessage(e)
	case sim.KindSend:
		return "sends " + e.Target
	case sim.KindReceive:
		return "receives " + e.Target
	case sim.KindFetch:
		return "asks for messages of " + e.Target
	case sim.KindFetchEnd:
		return "stops waiting for messages of " + e.Target
	case sim.KindStart:
		if e.Incarnation > 1 {
			return "starts again, incarnation " + strconv.Itoa(e.Incarnation)
		}
		return "starts"
	case sim.KindTimer:
		return "wakes from " + e.Name
	case sim.KindReturn:
		if e.Outcome == sim.OutcomeOK || e.Outcome == sim.OutcomeNil {
			return "learns what came of it"
		}
		return "learns that the call hung until its deadline"
	case sim.KindLate:
		return describeLate(e, now, changed)
	case sim.KindControl:
		if done, ok := controls[e.Name]; ok {
			return done
		}
		return e.Name
	case world.KindEffect:
		switch e.Name {
		case world.EffectBegin:
			return "begins the work"
		case world.EffectDone:
			return "finishes the work"
		}
	}
	return strings.TrimSpace(string(e.Kind) + " " + e.Name + " " + e.Target)
}

// describeLate says what an operation does that was on its way until now.
func describeLate(e sim.Event, now record, changed bool) string {
	words := "publishes " + e.Target + stored(e)
	if e.Name != string(sim.KindPublish) {
		words = describeRedis(e, now, changed)
	}
	return "late: " + words
}

func describeRedis(e sim.Event, now record, changed bool) string {
	failed := e.Outcome != sim.OutcomeOK && e.Outcome != sim.OutcomeNil
	p := phase.Phase(e.Phase)
	if state, ok := writes[p]; ok {
		switch {
		case looks(e) && failed:
			return "cannot look before it writes " + state
		case looks(e):
			return "looks before it writes " + state
		case changed && p == phase.RollbackWrite:
			return "rolls back to " + now.String()
		case changed && p == phase.DispatchedWrite && now.worker != "":
			return "DISPATCHED to " + now.worker
		case changed && (p == phase.RunningWrite || p == phase.ResultWrite):
			return now.state
		case changed:
			return now.String()
		case failed:
			return state + " is not written"
		}
		return "writes " + state + ", which changes nothing"
	}
	switch {
	case p == phase.StateRead && failed:
		return "cannot read the state"
	case p == phase.StateRead && e.Outcome == sim.OutcomeNil:
		return "reads no record"
	case p == phase.StateRead:
		return "reads " + now.String()
	case p == phase.LockAcquire && failed:
		return "asks for the lock"
	case p == phase.LockAcquire && len(e.Changes) == 0:
		return "finds the lock busy"
	case p == phase.LockAcquire:
		return "takes the lock"
	case p == phase.LockRenew:
		return "renews the lock"
	case p == phase.LockRelease && e.Name == "multi":
		return "releases the lock"
	case p == phase.LockRelease && failed:
		return "cannot check who owns the lock"
	case p == phase.LockRelease:
		return "checks who owns the lock"
	case p == phase.DLQWrite && len(e.Changes) > 0:
		return "writes the DLQ entry"
	case p == phase.DLQWrite && looks(e):
		return "looks before it writes the DLQ entry"
	case p == phase.DLQWrite:
		return "the DLQ entry is not written"
	}
	return strings.ToUpper(e.Name) + " " + e.Target
}

// looks tells the commands that change nothing.
func looks(e sim.Event) bool {
	return slices.Contains([]string{"watch", "unwatch", "get", "exists", "hget", "hgetall", "ttl", "pttl"}, strings.ToLower(e.Name))
}

func describeMessage(e sim.Event) string {
	verb := map[sim.Kind]string{
		sim.KindDeliver: "receives", sim.KindAck: "acks", sim.KindNak: "naks", sim.KindTerm: "terminates",
		sim.KindProgress: "asks for more time for",
	}[e.Kind]
	kind, _, _ := strings.Cut(e.Phase, "_")
	what := "the " + messages[kind]
	if messages[kind] == "" {
		what = "message " + count(e.Seq) + " of " + e.Target
	}
	if e.Kind == sim.KindDeliver && e.Delivered > 1 {
		what += ", delivery " + count(e.Delivered)
	}
	return verb + " " + what
}

// stored says where a publish ended up, by what the streams hold.
func stored(e sim.Event) string {
	in := slices.ContainsFunc(e.Changes, func(c sim.Change) bool { return c.Stream != "" })
	switch {
	case in && e.Outcome == sim.OutcomeOK, e.Outcome == sim.OutcomePending:
		return ""
	case in:
		return ", which is stored all the same"
	}
	return ", which is not stored"
}

// minor tells the steps that a reader skims: they look before something else happens.
func minor(e sim.Event) bool {
	if e.Fault != "" || e.Outcome != sim.OutcomeOK && e.Outcome != sim.OutcomeNil {
		return false
	}
	switch phase.Phase(e.Phase) {
	case phase.LockRelease, phase.LockRenew:
		return true
	case phase.LockAcquire:
		return len(e.Changes) > 0
	case phase.StateRead:
		return false
	}
	return e.Kind == sim.KindRedis && looks(e) || e.Kind == sim.KindFetch || e.Kind == sim.KindFetchEnd || e.Kind == sim.KindTimer
}
