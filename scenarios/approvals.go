package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/world"
	"github.com/wavetank-sim/wavetank/sim"
)

// startApprovers starts who approves jobs, and who changes them, as far as the plan has them.
func (c *crew) startApprovers(w *sim.World) {
	work := c.plan.Workload
	if len(work.Approve) > 0 {
		w.Node(world.ApproverName, c.approver).Start()
	}
	if len(work.Change) > 0 {
		w.Node(world.ChangerName, c.changer).Start()
	}
}

// approver is the main function of the approver. It starts when the submitter does, as the changer.
func (c *crew) approver(p *sim.Process) {
	work := c.plan.Workload
	var list []world.Approval
	for _, n := range slices.Sorted(maps.Keys(work.Approve)) {
		list = append(list, world.Approval{JobID: plans.JobID(n), From: time.Duration(n) * work.Every, After: work.Approve[n]})
	}
	done := c.once(world.ApproverName)
	failed := func(id string, err error) {
		if errors.Is(err, engine.ErrChanged) {
			c.refused = append(c.refused, id)
		}
	}
	world.Approver{Approvals: list, Client: c.client, Tries: work.Tries, Failed: failed, Done: done}.Run(p)
}

// changer is the main function of the changer.
func (c *crew) changer(p *sim.Process) {
	client, done := c.client(p), c.once(world.ChangerName)
	world.RunErrands(p, world.AtOnce, c.inTime(c.plan.Workload.Change, func(ctx context.Context, n int) error {
		r := c.request(n)
		r.Payload = json.RawMessage(`{"changed":true}`)
		err := client.Submit(ctx, r)
		if err == nil {
			done()
		}
		return err
	}))
}

// once counts what a process of that node has done; a new process begins anew.
func (c *crew) once(node string) func() {
	n := &c.approved
	if node == world.ChangerName {
		n = &c.changed
	}
	n.Store(0)
	return func() { n.Add(1) }
}

// approvalsDone says whether the jobs that are to be approved have been, or were left alone.
func (c *crew) approvalsDone() bool { return int(c.approved.Load()) >= len(c.plan.Workload.Approve) }

// changesDone says whether the jobs that are to change have been submitted again.
func (c *crew) changesDone() bool { return int(c.changed.Load()) >= len(c.plan.Workload.Change) }

// consent is what the record follows of a job's approval.
type consent struct {
	asks    bool          // the request that waits bears an approval
	granted time.Duration // when it was granted; 0 if it never was
	sent    int           // approved requests that were submitted, and not taken up yet
}

// approved says whether a request bears an approval.
func approved(packet string) bool { return strings.Contains(packet, `"approval_granted":"true"`) }

// grants takes in what a job's record says of approvals.
func (g *consent) grants(f *invariants.Fact) {
	if packet, ok := f.Field("request"); ok {
		g.asks = approved(packet)
	}
	if _, ok := f.Field("approved_at"); ok {
		g.granted = f.At
	}
}

// waiting counts the jobs that wait for an approval which nobody will give.
func (r *run) waiting() (n int) {
	if !r.crew.approvalsDone() {
		return 0
	}
	for _, j := range r.record.jobs {
		if j.State == "APPROVAL_REQUIRED" && (!j.consent.asks || r.tooOld(j)) {
			n++
		}
	}
	return n
}

// tooOld says whether the job's approval does not count any more.
func (r *run) tooOld(j *jobRecord) bool {
	p := &r.plan.Engine.Policy
	now := r.end
	if now == 0 {
		now = r.world.Now()
	}
	return p.BindApprovals && now > j.consent.granted+p.ApprovalTTL
}
