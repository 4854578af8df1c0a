package exhaust

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Kinds lists the columns of a certificate: what can strike a site, whatever its length.
func Kinds() (list []string) {
	for _, k := range faults.Kinds() {
		switch k.Effect {
		case faults.Crash:
			list = append(list, string(k.Effect), kill)
		case faults.Failover:
			list = append(list, string(k.Effect)+" of "+faults.Redis, outage)
		case faults.Partition:
			for _, from := range plans.Links() {
				list = append(list, string(k.Effect)+" from "+from)
			}
		default:
			if k.Effect.OfServer() {
				for _, server := range k.Servers {
					list = append(list, string(k.Effect)+" of "+server)
				}
				continue
			}
			list = append(list, string(k.Effect))
		}
	}
	return list
}

// columns lists the kinds that are asked for, in the order of [Kinds].
func (o *Options) columns() []string {
	all := Kinds()
	if len(o.Kinds) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(kind string) bool { return !slices.Contains(o.Kinds, kind) })
}

const (
	kill   = "crash until the heal"
	outage = "failover of redis with an outage"
)

// kindOf names the column of a fault.
func kindOf(f *faults.Fault) string {
	switch {
	case f.Do == faults.Crash && f.RestartIn == 0:
		return kill
	case f.Do == faults.Failover && f.For > 0:
		return outage
	case f.Do == faults.Partition:
		return string(f.Do) + " from " + f.From
	case f.Do.OfServer():
		return string(f.Do) + " of " + f.Node
	}
	return string(f.Do)
}

// strikesAt lists the faults that can strike a site. A fault that lasts has each of the definition's lengths,
// or its single length if there are none. A partition does not begin after an operation but at a time: that
// of the site. It is the only fault at a site whose operation a fault of the plan strikes already; the others
// are counted.
func (d *Definition) strikesAt(p *plans.Plan, phase faults.Phase, s *moment) (list []faults.Fault) {
	each := func(own time.Duration, add func(time.Duration)) {
		if len(d.Lengths) == 0 {
			add(own)
		}
		for _, length := range d.Lengths {
			add(length)
		}
	}
	on, after := s.match(), s.match()
	for _, k := range faults.Kinds() {
		switch {
		case k.OnNode() || !k.Strikes(phase):
		case k.Effect == faults.Late:
			each(standstill, func(d time.Duration) { list = append(list, faults.Fault{On: on, Do: k.Effect, For: d}) })
		default:
			list = append(list, faults.Fault{On: on, Do: k.Effect})
		}
	}
	node := func(f faults.Fault) {
		f.After = after
		list = append(list, f)
	}
	if slices.Contains(p.Nodes(), s.Node) {
		each(startUp, func(d time.Duration) { node(faults.Fault{Do: faults.Crash, Node: faults.Actor, RestartIn: d}) })
		if p.Then.Heal { // otherwise it never ends, nor does what waits for the node
			node(faults.Fault{Do: faults.Crash, Node: faults.Actor})
		}
		each(standstill, func(d time.Duration) {
			node(faults.Fault{Do: faults.Pause, Node: faults.Actor, For: d})
			node(faults.Fault{Do: faults.Skew, Node: faults.Actor, By: ahead, For: d})
		})
	}
	for _, link := range p.FaultWorld().Links {
		if slices.Contains(link.Nodes, s.Node) {
			each(standstill, func(d time.Duration) {
				list = append(list, faults.Fault{At: s.At + 1, Do: faults.Partition, Node: s.Node, From: link.Name, For: d})
			})
		}
	}
	each(startUp, func(d time.Duration) {
		node(faults.Fault{Do: faults.Restart, Node: faults.NATS, For: d})
		node(faults.Fault{Do: faults.Kill, Node: faults.NATS, For: d})
		node(faults.Fault{Do: faults.Kill, Node: faults.Redis, For: d})
		node(faults.Fault{Do: faults.PowerLoss, Node: faults.NATS, For: d, Lag: unsynced})
		node(faults.Fault{Do: faults.Failover, Node: faults.Redis, For: d, Lag: replicaLag})
		node(faults.Fault{Do: faults.PowerLoss, Node: faults.Redis, For: d})
	})
	refusals := []string{"oom"} // oom stands for all, if there is a single length
	if len(d.Lengths) > 0 {
		refusals = faults.Refusals()
	}
	for _, with := range refusals {
		each(standstill, func(d time.Duration) { node(faults.Fault{Do: faults.Refusal, Node: faults.Redis, With: with, For: d}) })
	}
	node(faults.Fault{Do: faults.Failover, Node: faults.Redis, Lag: replicaLag})
	if len(d.Kinds) > 0 {
		list = slices.DeleteFunc(list, func(f faults.Fault) bool { return !slices.Contains(d.Kinds, kindOf(&f)) })
	}
	if s.Own {
		all := len(list)
		list = slices.DeleteFunc(list, func(f faults.Fault) bool { return f.On != nil || f.After != nil })
		d.Own += all - len(list)
	}
	return list
}
