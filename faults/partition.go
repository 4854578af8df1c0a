package faults

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/sim"
)

func (in *Injector) partition(w *sim.World, a *armed) {
	a.hits++
	i := in.note(w, a, a.Node, Fired{Phase: in.links[a.From]})
	in.cut[a.Node] = append(in.cut[a.Node], i)
	lasts := a.For
	if lasts == 0 && in.healed { // the heal that would have ended it has passed
		lasts = time.Second
	}
	if lasts > 0 {
		in.lasts(w, i, lasts, in.verb("heal", a.From), a.Node, func() { in.mend(w, a.Node, i) })
	}
}

// verb names the step that cuts or heals a link. A link to a server goes by the server's name.
func (in *Injector) verb(does, link string) string {
	if in.links[link] != "" || link == "" {
		return does
	}
	return does + " " + link
}

// cutFrom returns what op cannot reach; "" is nothing.
func (in *Injector) cutFrom(op *sim.Op) string {
	if op.Kind == sim.KindRedis && op.World().Now() < in.redisBack {
		return Redis
	}
	for _, i := range in.cut[op.Node()] {
		from := in.fired[i].Fault.cuts()
		if from == Redis && op.Kind == sim.KindRedis || from == NATS && throughNATS(op.Kind) || from == op.Target && op.Kind == sim.KindCall ||
			in.links[from] == op.Phase && op.Phase != "" {
			return from
		}
	}
	return ""
}

// cuts names what the fault cuts nodes off from.
func (f *Fault) cuts() string {
	if f.Do.OfServer() {
		return f.Node
	}
	return f.From
}

// throughNATS says whether operations of a kind need the connection to NATS. The end of a pull does not.
func throughNATS(k sim.Kind) bool {
	switch k {
	case sim.KindPublish, sim.KindSend, sim.KindReceive, sim.KindAPI, sim.KindFetch, sim.KindDeliver,
		sim.KindAck, sim.KindNak, sim.KindTerm, sim.KindProgress:
		return true
	}
	return false
}

// cutOff is the outcome of op, which cannot reach its server. Redis fails at once. With NATS, the caller of
// an unconfirmed send learns nothing, and others wait for an answer in vain. So does the caller of a gRPC
// server.
func cutOff(ctx context.Context, op *sim.Op, from string) error {
	switch {
	case from == Redis:
		return injected(op, true)
	case op.Kind == sim.KindCall:
		return wait(ctx, op, apiTimeout, context.DeadlineExceeded)
	case from != NATS:
		return nil
	case op.Kind == sim.KindFetch:
		return wait(ctx, op, pullSilent, jetstream.ErrNoHeartbeat)
	case op.Kind == sim.KindPublish, op.Kind == sim.KindAPI, op.Name == sim.NameDoubleAck:
		return wait(ctx, op, apiTimeout, context.DeadlineExceeded)
	}
	return nil
}

// mend ends one partition. Another one may still cut the node off.
func (in *Injector) mend(w *sim.World, node string, i int) {
	in.fired[i].Until = w.Now()
	in.cut[node] = slices.DeleteFunc(in.cut[node], func(k int) bool { return k == i })
	if len(in.cut[node]) == 0 {
		delete(in.cut, node)
	}
}
