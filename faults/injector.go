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

// Injector makes the faults of a plan happen in one world. The world's Config takes its Intercept and its
// RedisLag, and a RedisDisk if Redis is to die. Attach schedules the faults that happen at a time.
type Injector struct {
	Survey func(Operation) // is called with each operation that a fault can strike, before the operation is made; nil is not called
	Users  []string        // the nodes that use Redis: for each, one step says that Redis is away and another that it is back

	jobID func(n int) string // returns the ID of the workload's n-th job
	links map[string]string  // for each link that a partition can cut, the phase in which nodes send over it; links to servers need none

	armed     []*armed
	fired     []Fired
	cut       map[string][]int // nodes that are cut off, and the strikes that cut them, by index into fired
	down      map[string]int   // nodes that a fault took down, and the strike, by index into fired
	redisBack time.Duration    // when Redis comes back after a failover or a death
	refusing  []int            // the strikes that make Redis refuse commands, by index into fired
	wrong     map[string]int   // nodes whose clock is wrong, and the strike, by index into fired
	pauses    map[int]func()   // pauses under way, by index into fired: each function ends one at once
	under     int              // how many effects have still to end by themselves, and how many strikes are the next step
	healed    bool

	surveyed map[[3]string]int // number of operations so far, by phase, job and node; "" is any node
}

// armed is a fault that waits for its operation or its time.
type armed struct {
	Fault
	seen   map[string]int // number of matching operations so far, by job
	met    bool           // some operation of its phase was made, whatever its node and job
	hits   int
	spared int                                  // operations that it would have struck if they had not failed by themselves
	away   int                                  // struck operations that are late and have not arrived
	miss   string                               // why it had no effect the last time
	early  func() (at time.Duration, ever bool) // when its node, which had not started by then, did start
}

// NewInjector arms faults, which must be valid. links maps each link that a partition can cut to the phase in
// which nodes send over it; links to servers need no entry.
func NewInjector(list []Fault, jobID func(int) string, links map[string]string) *Injector {
	in := &Injector{jobID: jobID, links: links, cut: map[string][]int{}, down: map[string]int{}, wrong: map[string]int{}, pauses: map[int]func(){}, surveyed: map[[3]string]int{}}
	for _, f := range list {
		in.armed = append(in.armed, &armed{Fault: f, seen: map[string]int{}})
	}
	return in
}

// RedisLag is how far back a failover of Redis goes at most, for the world's Config.
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

// Operation is an operation that a fault can strike, in the terms of a [Match].
type Operation struct {
	Phase      string
	Job        string // its ID
	Node       string
	At         time.Duration
	Occurrence int     // its number among the operations of its phase and job
	OnNode     int     // likewise, on its node
	Struck     bool    // a fault strikes it or keeps it from its server, so no other can strike it
	Fired      []Fired // the strikes before it
}

// survey reports an operation, and whether a fault strikes it already.
func (in *Injector) survey(op *sim.Op, struck bool) {
	if op.Phase == "" || op.Kind == sim.KindReceive || !strikable(op) { // a message that is received is struck where it was sent
		return
	}
	count := func(node string) int {
		key := [3]string{op.Phase, op.Job, node}
		in.surveyed[key]++
		return in.surveyed[key]
	}
	in.Survey(Operation{op.Phase, op.Job, op.Node(), op.World().Now(), count(""), count(op.Node()), struck, in.fired})
}

// strikable says whether a fault on the operation's phase can strike the operation. A `_write` phase may read
// before it writes; its faults strike the write.
func strikable(op *sim.Op) bool { return op.Kind == sim.KindCall || op.Write != Reads(op.Phase) }

// Intercept is for the world's Config. It gives each operation the effect that the plan demands.
func (in *Injector) Intercept(ctx context.Context, op *sim.Op, apply func() error) error {
	var struck *armed
	var moment Fired
	for _, a := range in.armed { // one fault strikes an operation, but each counts it
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

// spare notes that a could not strike an operation that failed by itself.
func (in *Injector) spare(a *armed, err error) error {
	a.spared++
	a.missed(byItself)
	return err
}

// hit notes that a strikes op now.
func (in *Injector) hit(op *sim.Op, a *armed, moment Fired) int {
	a.hits++
	op.Fault(string(a.Do))
	return in.note(op.World(), a, op.Node(), moment)
}

// late makes op arrive late. An operation that reads changes nothing by that.
func (in *Injector) late(op *sim.Op, a *armed, moment Fired, apply func() error) error {
	i := 0
	apply = sync.OnceValue(apply) // if the operation cannot be held back, its effect has been applied already, or there is none
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

// after strikes a node after op has returned err.
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

// match says whether a strikes op, and returns op's number among the matching operations.
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
	for _, k := range slices.Sorted(maps.Keys(in.pauses)) { // a pause ends with its process
		if in.fired[k].Node == node {
			in.pauses[k]()
		}
	}
	switch {
	case a.RestartIn > 0:
		in.restart(w, node, i, a.RestartIn)
	case in.healed: // the heal that would have started it again has passed
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

// next runs f as a step of its own after the operation.
func (in *Injector) next(w *sim.World, verb, target string, f func()) {
	in.under++
	w.Control(verb, target, func() {
		in.under--
		f()
	})
}

// verbOf is the trace's verb for a strike on a server.
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

// skew sets a node's clock wrong. It replaces the effect of an earlier skew. Timers run on as they are.
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
	if lasts == 0 && in.healed { // the heal that would have ended it has passed
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

// right corrects a node's clock if it is wrong.
func (in *Injector) right(w *sim.World, node string) {
	i, wrong := in.wrong[node]
	if !wrong {
		return
	}
	delete(in.wrong, node)
	in.fired[i].Until = w.Now()
	w.Find(node).Skew(0)
}

// pause pauses a node that is up.
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

// CutOff says whether the node cannot reach Redis or nats-server.
func (in *Injector) CutOff(node string) bool {
	return slices.ContainsFunc(in.cut[node], func(i int) bool {
		f := in.fired[i].Fault
		return f.Do != Partition || f.From == Redis || f.From == NATS
	})
}
