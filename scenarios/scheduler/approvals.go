package scheduler

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

// startApprovers starts the plan's approver and changer.
func (s *System) startApprovers(w *sim.World) {
	work := s.plan.Workload
	if len(work.Approve) > 0 {
		w.Node(actors.ApproverName, s.approver).Start()
	}
	if len(work.Change) > 0 {
		w.Node(actors.ChangerName, s.changer).Start()
	}
}

// approver is the main function of the approver. Like the changer, it starts with the submitter.
func (s *System) approver(p *sim.Process) {
	work := s.plan.Workload
	var list []actors.Approval
	for _, n := range slices.Sorted(maps.Keys(work.Approve)) {
		list = append(list, actors.Approval{JobID: plans.JobID(n), From: time.Duration(n) * work.Every, After: work.Approve[n]})
	}
	done := counting(&s.approved)
	failed := func(id string, err error) {
		if errors.Is(err, engine.ErrChanged) {
			s.refused = append(s.refused, id)
		}
	}
	actors.Approver{Approvals: list, Client: s.client, Tries: work.Tries, Failed: failed, Done: done}.Run(p)
}

// changer is the main function of the changer.
func (s *System) changer(p *sim.Process) {
	client, done := s.client(p), counting(&s.changed)
	actors.RunErrands(p, actors.AtOnce, s.inTime(s.plan.Workload.Change, func(ctx context.Context, n int) error {
		err := client.Submit(ctx, changed(s.plan, n))
		if err == nil {
			done()
		}
		return err
	}))
}

// counting counts what a process has done; a new process begins again at 0.
func counting(n *atomic.Int64) func() {
	n.Store(0)
	return func() { n.Add(1) }
}

// ApprovalsDone says whether all jobs to be approved have been approved or left alone.
func (s *System) ApprovalsDone() bool { return int(s.approved.Load()) >= len(s.plan.Workload.Approve) }

// ChangesDone says whether all jobs to be changed have been submitted again.
func (s *System) ChangesDone() bool { return int(s.changed.Load()) >= len(s.plan.Workload.Change) }

// Refused returns the jobs whose approver has found that the request had changed, since the last call.
func (s *System) Refused() []string {
	refused := s.refused
	s.refused = s.refused[:0]
	return refused
}
