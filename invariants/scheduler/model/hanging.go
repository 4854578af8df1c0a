package model

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Hanging is an operation of a scheduler that has begun and has no answer yet.
type Hanging struct {
	*Node
	Process    string
	Job, Phase string
	Step       int
	Since      time.Duration
	Within     time.Duration // how long the caller may wait, by the settings
	Call       bool          // it is a gRPC call, which has that time for itself

	what string
}

// Hangs notes that an operation hangs, or that its caller has an answer or has given up.
func (f *Facts) Hangs(e *sim.Event) {
	if e.Phase == "" || !strings.HasPrefix(e.Node, history.SchedulerNodes) || e.Outcome != sim.OutcomePending && e.Kind != sim.KindReturn {
		return
	}
	is := Hanging{
		Node: f.Node(e.Node), Process: invariants.Who(e), Job: e.Job, Phase: e.Phase, Step: e.Step, Since: e.At, Call: e.Kind == sim.KindCall,
		what: cmp.Or(e.Name, string(e.Kind)) + " " + e.Target,
	}
	if e.Kind != sim.KindReturn {
		if is.Within = f.timeout(e); is.Within > 0 {
			f.Hanging = append(f.Hanging, is)
		}
		return
	}
	i := slices.IndexFunc(f.Hanging, func(h Hanging) bool {
		return h.Process == is.Process && h.Job == is.Job && h.Phase == is.Phase && h.what == is.what
	})
	if i < 0 {
		return
	}
	for _, check := range f.Hooks.GivenUp {
		check(e, &f.Hanging[i])
	}
	f.Hanging = slices.Delete(f.Hanging, i, i+1)
}

// timeout returns how long an operation may take by the settings; 0 if no setting says.
func (f *Facts) timeout(e *sim.Event) time.Duration {
	c := &f.Config
	switch {
	case e.Phase == "safety_check":
		return c.Policy.Timeout
	case e.Phase == "output_check":
		return c.Output.CheckTimeout
	case e.Phase == "output_scan":
		return c.Output.ScanTimeout
	case e.Phase == "snapshot_read":
		return c.SnapshotReadTimeout
	case e.Kind == sim.KindRedis:
		return c.StoreOpTimeout
	case e.Kind == sim.KindPublish, e.Phase == "publish_read":
		return c.PublishTimeout
	}
	return 0
}
