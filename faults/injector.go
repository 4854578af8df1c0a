package faults

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// Injector makes a plan's faults happen in one world. Its Intercept and its RedisLag go into the world's
// Config, with a RedisDisk if Redis is to die; Attach schedules what happens at a time.
type Injector struct {
	Survey func(Operation) // is told of each operation that a fault can strike, before it is made; nil is nobody
	Users  []string        // the nodes that use Redis: of each, one step says that Redis is away from it, and another that it is back

	jobID func(n int) string // names the workload's n-th job
	links map[string]string  // the phase in which a node sends what a partition can cut, by the link's name; the servers need none

	armed     []*armed
	fired     []Fired
	cut       map[string][]int // nodes of which something is lost, and the faults behind it, by index into fired
	down      map[string]int   // nodes that a fault took down, and the fault, by index into fired
	redisBack time.Duration    // until when Redis is away since a failover or a death, from whoever asks
	refusing  []int            // the faults for which Redis refuses commands, by index into fired
	wrong     map[string]int   // nodes whose clock is wrong, and the fault behind it, by index into fired
	pauses    map[int]func()   // those under way, by index into fired: each ends it at once
	under     int              // what ends by itself and has not yet, and strikes that are the next step
	healed    bool

	surveyed map[[3]string]int // operations so far, by phase, job and node; "" is any node
}

// armed is a fault that waits for its moment.
type armed struct {
	Fault
	seen   map[string]int // matching operations so far, by job
	met    bool           // an operation of its phase was made, whoever's and about whatever
	hits   int
	spared int                                  // operations that it would have struck, and that failed by themselves
	away   int                                  // of the hits, operations that are late and have not arrived
	miss   string                               // why it had no effect when its moment last came
	early  func() (at time.Duration, ever bool) // of a node that had not started by then: when it did
}

// NewInjector arms faults. They must be valid. links names the phase in which a node sends what a
// partition can cut, by the link's name; the links to the servers need none.
func NewInjector(list []Fault, jobID func(int) string, links map[string]string) *Injector {
	in := &Injector{jobID: jobID, links: links, cut: map[string][]int{}, down: map[string]int{}, wrong: map[string]int{}, pauses: map[int]func(){}, surveyed: map[[3]string]int{}}
	for _, f := range list {
		in.armed = append(in.armed, &armed{Fault: f, seen: map[string]int{}})
	}
	return in
}

// RedisLag is how far back a failover of Redis goes at most; it belongs into the world's Config.
func (in *Injector) RedisLag() (most time.Duration) {
	for _, a := range in.armed {
		if a.Do == Failover {
			most = max(most, a.Lag)
		}
	}
	return most
}

// Attach schedules the faults that happen at a time.
func (in *Injector) Attach(w *sim.World) {
	for _, a := range in.armed {
		if a.On != nil || a.After != nil {
			continue
		}
		switch a.Do {
		case Crash:
			w.At(a.At, string(Crash), a.Node, func() { in.crash(w, a, a.Node, Fired{}) })
		case Pause:
			w.At(a.At, string(Pause), a.Node, func() { in.pause(w, a, a.Node, Fired{}) })
		case Skew:
			w.At(a.At, string(Skew), a.Node, func() { in.skew(w, a, a.Node, Fired{}) })
		case Restart, Kill, PowerLoss, Failover, Refusal:
			w.At(a.At, verbOf(a), a.Node, func() { in.strikeServer(w, a, Fired{}) })
		case Partition:
			w.At(a.At, in.verb(string(Partition), a.From), a.Node, func() { in.partition(w, a) })
		}
	}
}

// Operation is one that a fault can strike, as the [Match] of one names it.
type Operation struct {
	Phase      string
	Job        string // its id
	Node       string
	At         time.Duration
	Occurrence int     // among those of its phase and job
	OnNode     int     // likewise, on its node
	Struck     bool    // a fault strikes it, or keeps it from its server, so that no other can
	Fired      []Fired // what took effect before it
}

// survey tells of an operation, and whether another fault can strike it.
func (in *Injector) survey(op *sim.Op, struck bool) {
	if op.Phase == "" || op.Kind == sim.KindReceive || !strikable(op) { // what is received was sent, and is struck there
		return
	}
	count := func(node string) int {
		key := [3]string{op.Phase, op.Job, node}
		in.surveyed[key]++
		return in.surveyed[key]
	}
	in.Survey(Operation{op.Phase, op.Job, op.Node(), op.World().Now(), count(""), count(op.Node()), struck, in.fired})
}

// strikable says whether a fault on the operation's phase is one on the operation: a `_write` phase may read before it
// writes, and its faults are the write's.
func strikable(op *sim.Op) bool { return op.Kind == sim.KindCall || op.Write != Reads(op.Phase) }

// Intercept is the world's: it gives each operation the effect that the plan wants it to have.
func (in *Injector) Intercept(ctx context.Context, op *sim.Op, apply func() error) error {
	var struck *armed
	var moment Fired
	for _, a := range in.armed { // one fault an operation, but each counts them all
		switch n, hit := in.match(a, op); {
		case hit && struck == nil:
			struck, moment = a, Fired{Job: op.Job, Phase: op.Phase, Occurrence: n}
		case hit:
			a.missed("another fault struck the operation")
		}
	}
	from, refusal := in.cutFrom(op), in.refusedWith(op)
	if in.Survey != nil {
		in.survey(op, struck != nil || from != "" || refusal != "")
	}
	if from != "" {
		if struck != nil {
			struck.missed("a partition had cut " + op.Node() + " off from " + from)
		}
		op.Fault(string(Partition))
		return cutOff(ctx, op, from)
	}
	if refusal != "" {
		if struck != nil {
			struck.missed("Redis refused the operation")
		}
		op.Fault(string(Refusal))
		return refused(op, refusal, apply)
	}
	switch {
	case struck == nil:
		return apply()
	case struck.Do == Late:
		return in.late(op, struck, moment, apply)
	case struck.After != nil:
		err := apply()
		if !replied(op, err) {
			return in.spare(struck, err)
		}
		return in.after(op, struck, moment, err)
	case struck.Do.applies():
		if err := apply(); failed(err) {
			return in.spare(struck, err)
		}
	}
	i := in.hit(op, struck, moment)
	if deadline, ok := ctx.Deadline(); ok && struck.Do == Hang {
		in.fired[i].GivenUp = deadline.Sub(op.World().Started())
	}
	return strike(ctx, struck.Do, op)
}

// spare notes that a could not strike an operation, which failed by itself.
func (in *Injector) spare(a *armed, err error) error {
	a.spared++
	a.missed(byItself)
	return err
}

// hit notes that a strikes op, now.
func (in *Injector) hit(op *sim.Op, a *armed, moment Fired) int {
	a.hits++
	op.Fault(string(a.Do))
	return in.note(op.World(), a, op.Node(), moment)
}

// late holds op up. What reads changes nothing by being late.
func (in *Injector) late(op *sim.Op, a *armed, moment Fired, apply func() error) error {
	i := 0
	apply = sync.OnceValue(apply) // what could not be held up has had its effect, or has none
	op.Fault(string(Late))
	held := op.Late(a.For, apply, func() {
		in.under--
		a.away--
		in.fired[i].Until = op.World().Now()
	})
	if !held {
		op.Fault("")
		return in.spare(a, apply())
	}
	in.under++
	a.away++
	i = in.hit(op, a, moment)
	return context.DeadlineExceeded
}

// after gives a node the effect that comes once op has had its own, with err.
func (in *Injector) after(op *sim.Op, a *armed, moment Fired, err error) error {
	w, node := op.World(), a.Node
	if node == Actor {
		node = op.Node()
	}
	switch a.Do {
	case Crash:
		if in.crash(w, a, node, moment) {
			w.Control(string(Crash), node, func() {})
		}
	case Skew:
		in.next(w, string(Skew), node, func() { in.skew(w, a, node, moment) })
	case Restart, Kill, PowerLoss, Failover, Refusal:
		in.next(w, verbOf(a), a.Node, func() { in.strikeServer(w, a, moment) })
	case Pause:
		if in.pause(w, a, node, moment) {
			w.Control(string(Pause), node, func() {})
			if node == op.Node() {
				return op.Hold(err)
			}
		}
	}
	return err
}

// match says whether a strikes op, and which of the matching operations op is.
func (in *Injector) match(a *armed, op *sim.Op) (occurrence int, hit bool) {
	m := a.On
	if m == nil {
		m = a.After
	}
	if m == nil || m.Phase != op.Phase || !strikable(op) {
		return 0, false
	}
	a.met = true
	if m.Node != "" && m.Node != op.Node() || m.Job != 0 && in.jobID(m.Job) != op.Job {
		return 0, false
	}
	a.seen[op.Job]++
	n := a.seen[op.Job]
	if a.Rate > 0 {
		if in.healed {
			return n, false
		}
		chance := op.World().Draw("fault", string(a.Do), m.Phase, m.Node, op.Job, op.Node(), strconv.Itoa(n))
		return n, float64(chance>>11)/(1<<53) < a.Rate
	}
	first := max(1, m.Occurrence)
	return n, n >= first && n < first+max(1, a.Times)
}

func (in *Injector) crash(w *sim.World, a *armed, node string, f Fired) (crashed bool) {
	n := w.Find(node)
	if n == nil || !n.Up() {
		a.missedNode(w, node)
		return false
	}
	a.hits++
	i := in.note(w, a, node, f)
	in.down[node] = i
	n.Crash()
	for _, k := range slices.Sorted(maps.Keys(in.pauses)) { // a pause is its process's
		if in.fired[k].Node == node {
			in.pauses[k]()
		}
	}
	switch {
	case a.RestartIn > 0:
		in.restart(w, node, i, a.RestartIn)
	case in.healed: // too late for the heal that would have started it
		in.restart(w, node, i, time.Second)
	}
	return true
}

func (in *Injector) restart(w *sim.World, node string, i int, after time.Duration) {
	in.lasts(w, i, after, "restart", node, func() {
		delete(in.down, node)
		w.Find(node).Start()
	})
}

// next has what comes after an operation come as a step of its own.
func (in *Injector) next(w *sim.World, verb, target string, f func()) {
	in.under++
	w.Control(verb, target, func() {
		in.under--
		f()
	})
}

// verbOf is what the trace says when a strikes a server.
func verbOf(a *armed) string {
	if a.Do == Restart {
		return "stop"
	}
	return string(a.Do)
}

func (in *Injector) strikeServer(w *sim.World, a *armed, f Fired) {
	if a.Node == Redis {
		in.strikeRedis(w, a, f)
	} else {
		in.strikeNATS(w, a, f)
	}
}

func (in *Injector) strikeNATS(w *sim.World, a *armed, f Fired) {
	if w.NATSDown() { // it can neither stop nor lose anything
		a.missed("nats-server was down")
		return
	}
	a.hits++
	in.under++
	i := in.note(w, a, NATS, f)
	back := func() {
		in.under--
		in.fired[i].Until = w.Now()
	}
	switch a.Do {
	case Kill:
		w.KillNATS(a.For, back)
	case PowerLoss:
		w.LosePowerNATS(a.Lag, a.For, back)
	default:
		w.RestartNATS(a.For, back)
	}
}

func (in *Injector) strikeRedis(w *sim.World, a *armed, f Fired) {
	if w.Now() < in.redisBack {
		a.missed("Redis was down")
		return
	}
	a.hits++
	i := in.note(w, a, Redis, f)
	switch a.Do {
	case Refusal:
		in.refuse(w, i, a.For)
		return
	case Kill:
		w.KillRedis()
	case PowerLoss:
		w.LosePowerRedis(a.Lag)
	default:
		w.FailOverRedis(a.Lag)
	}
	if a.For == 0 {
		return
	}
	until := w.Now() + a.For
	in.redisBack = until
	for _, node := range in.Users {
		w.Control(string(Partition)+" "+Redis, node, func() {
			in.cut[node] = append(in.cut[node], i)
			in.lasts(w, i, max(until-w.Now(), 0), "heal "+Redis, node, func() { in.mend(w, node, i) }) // it was cut off a moment after the others
		})
	}
}

// skew sets a node's clock wrong, by this fault alone if there was one before. Its timers run on as they are.
func (in *Injector) skew(w *sim.World, a *armed, node string, f Fired) {
	n := w.Find(node)
	if n == nil {
		return
	}
	a.hits++
	in.right(w, node)
	i := in.note(w, a, node, f)
	in.wrong[node] = i
	n.Skew(a.By)
	lasts := a.For
	if lasts == 0 && in.healed { // too late for the heal that would have ended it
		lasts = time.Second
	}
	if lasts > 0 {
		in.lasts(w, i, lasts, "set clock", node, func() {
			if in.wrong[node] == i {
				in.right(w, node)
			}
		})
	}
}

// right sets a node's clock right, if it is wrong.
func (in *Injector) right(w *sim.World, node string) {
	i, wrong := in.wrong[node]
	if !wrong {
		return
	}
	delete(in.wrong, node)
	in.fired[i].Until = w.Now()
	w.Find(node).Skew(0)
}

// pause holds a node up, if it is up.
func (in *Injector) pause(w *sim.World, a *armed, node string, f Fired) (paused bool) {
	n := w.Find(node)
	if n == nil || !n.Up() {
		a.missedNode(w, node)
		return false
	}
	a.hits++
	n.Pause(a.For)
	i := in.note(w, a, node, f)
	in.pauses[i] = in.lasts(w, i, a.For, "resume", node, func() { delete(in.pauses, i) })
	return true
}

// CutOff says whether the node does not reach Redis, or nats-server.
func (in *Injector) CutOff(node string) bool {
	return slices.ContainsFunc(in.cut[node], func(i int) bool {
		f := in.fired[i].Fault
		return f.Do != Partition || f.From == Redis || f.From == NATS
	})
}
