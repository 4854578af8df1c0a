package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Answers lists the results by which the step may end its job: those that its process has in hand or, for a
// late write, all that the stream was seen to store. A result without a legal status ends nothing.
func (j *Job) Answers(s *Step) (list []*Message) {
	me := invariants.Process(s.Node, s.Incarnation)
	for i := range j.Messages {
		m := &j.Messages[i]
		if m.Consumer != history.ConsumerResult || m.Garbled {
			continue
		}
		if s.Kind == sim.KindLate || m.InHandOf(me) {
			list = append(list, m)
		}
	}
	return list
}

// Names says whether the step's process has a result in hand that ends the job as a success with that output.
func (j *Job) Names(s *Step, ptr string) bool {
	return slices.ContainsFunc(j.Answers(s), func(m *Message) bool { return m.Succeeded() && m.Answer.ResultPtr == ptr })
}

// failures says whether the step may end its job by a final failure, and whether by another failure.
func (j *Job) failures(s *Step) (fatal, other bool) {
	for _, m := range j.Answers(s) {
		if m.endsIn() == Failed {
			is := m.Answer.Status == history.StatusFatal
			fatal, other = fatal || is, other || !is
		}
	}
	return fatal, other
}

// Differs names a field in which a job that has ended by the result differs from it, with the result's value;
// both are "" if there is none. The output may be the redacted one that the policy names.
func (m *Message) Differs(j *Job) (is, should string) {
	a := &m.Answer
	state, code := m.endsIn(), cmp.Or(a.ReasonCode, history.ReasonDispatch)
	switch {
	case state != j.State && (state != Succeeded || j.State != Quarantined):
		return j.State.String(), a.Status
	case j.State == Succeeded && j.Out.Ptr != a.ResultPtr && !j.Out.redactedAs(j.Out.Ptr):
		return "the output " + strconv.Quote(j.Out.Ptr), strconv.Quote(a.ResultPtr)
	case j.State == Failed && j.ReasonCode != code:
		return "reason_code " + strconv.Quote(j.ReasonCode), strconv.Quote(code)
	}
	return "", ""
}

// endsIn is the state that a result takes its job to, unless an output policy blocks it (Scheduler internals,
// section 1).
func (m *Message) endsIn() State {
	if m.Answer.Status == history.StatusFatal {
		return Failed
	}
	return ParseState(m.Answer.Status)
}

// Succeeded says whether the message is a result that reports success.
func (m *Message) Succeeded() bool { return m.endsIn() == Succeeded }

// redactedAs says whether the policy has told some process that the redacted output is there.
func (o *outputJob) redactedAs(ptr string) bool {
	return slices.ContainsFunc(o.sync, func(a OutputVerdict) bool { return a.Decision == history.OutputRedact && a.Ptr != "" && a.Ptr == ptr })
}

// ended is the end of an execution of a job on a worker, or the worker's learning that the job needs none.
type ended struct {
	worker string
	failed bool // without its effect
}

// putOut is an output that a worker has stored.
type putOut struct{ worker, ptr string }

// ExecutionEnds notes that an execution of the step's job ends.
func ExecutionEnds(s *Step) {
	s.About.ended = append(s.About.ended, ended{s.Node, s.Name == "fail"})
}

// WorkerOperation notes that a worker stores an output of the step's job, or learns that the job's effect was
// had.
func WorkerOperation(s *Step) {
	switch {
	case s.About == nil || !strings.HasPrefix(s.Node, history.WorkerNodes):
	case s.Phase == "output_store":
		s.About.outputs = append(s.About.outputs, putOut{s.Node, s.Target})
	case s.Kind == sim.KindCall && s.Name == history.CallHad && !s.Failed && s.Outcome != sim.OutcomeNil:
		s.About.ended = append(s.About.ended, ended{worker: s.Node})
	}
}

// Misreports says how a worker's result differs from what the worker has done, with the value that it should
// have; both are "" if it does not. If the worker had several dispatches, executions or outputs of the job,
// any of them will do.
func (f *Facts) Misreports(j *Job, m *Message) (is, should string) {
	a, x := &m.Answer, f.Config.Execution(j.ID)
	given := slices.ContainsFunc(j.Dispatches, func(d Dispatch) bool {
		return d.Handed > 0 && d.Epoch == m.Epoch && (d.Worker == "" || d.Worker == m.From)
	})
	says, done := config.Outcome{Status: a.Status, ReasonCode: a.ReasonCode, Reason: a.Reason}, j.outcomes(m.From, &x)
	outputs := j.outputsFor(m.From, &says, &x)
	switch {
	case a.JobID != j.ID:
		return "job_id " + strconv.Quote(a.JobID), strconv.Quote(j.ID)
	case a.WorkerID != m.From && !(f.Config.FanOut && strings.HasPrefix(a.WorkerID, m.From+".")):
		return "worker_id " + strconv.Quote(a.WorkerID), strconv.Quote(m.From)
	case a.Epoch != m.Epoch || !given:
		return fmt.Sprintf("epoch %d, and epoch %d in its header", a.Epoch, m.Epoch), "that of a dispatch that the worker was given"
	case len(done) == 0:
		return says.String(), "nothing: the worker has not come to an end with it"
	case !slices.Contains(done, says):
		return says.String(), done[len(done)-1].String()
	case !slices.Contains(outputs, a.ResultPtr):
		return "result_ptr " + strconv.Quote(a.ResultPtr), strconv.Quote(outputs[len(outputs)-1])
	}
	return "", ""
}

// outcomes lists what a worker may report, by the executions of the job that have ended there.
func (j *Job) outcomes(worker string, x *config.Execution) (list []config.Outcome) {
	for _, e := range j.ended {
		if e.worker != worker {
			continue
		}
		if !e.failed {
			list = append(list, config.Outcome{Status: cmp.Or(x.Answer, Succeeded.String())})
		}
		if x.Fails.Status != "" && (e.failed || x.Committed) {
			list = append(list, x.Fails)
		}
	}
	return list
}

// outputsFor lists the outputs that a worker has stored; its report names one of them. A failure after which
// the worker succeeds all the same has no output.
func (j *Job) outputsFor(worker string, says *config.Outcome, x *config.Execution) (list []string) {
	for _, o := range j.outputs {
		if o.worker == worker {
			list = append(list, o.ptr)
		}
	}
	if len(list) == 0 || x.Succeeds && *says == x.Fails {
		list = append(list, "")
	}
	return list
}

// Owes says whether the step's worker was given a dispatch with the step's sequence, and returns the one that
// it has still to answer. open is nil if the worker has published a result of the epoch, or its process has
// learnt that none is needed. If a power loss has put one dispatch in place of another, either will do.
func (j *Job) Owes(s *Step) (given bool, open *Dispatch) {
	for i := range j.Dispatches {
		d := &j.Dispatches[i]
		if d.Seq != s.Seq || d.Worker != "" && d.Worker != s.Node {
			continue
		}
		if j.answered(d.Epoch, s.Node) || j.toldOff(d.Epoch, invariants.Process(s.Node, s.Incarnation)) {
			return true, nil
		}
		given, open = true, d
	}
	return given, open
}

func (j *Job) answered(epoch int64, worker string) bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool {
		return m.Consumer == history.ConsumerResult && m.Epoch == epoch && m.From == worker
	})
}

// toldOff considers every notice that has had the sequence of one that was delivered to the process.
func (j *Job) toldOff(epoch int64, process string) bool {
	return slices.ContainsFunc(j.Heard, func(h Heard) bool {
		return h.Process == process && slices.ContainsFunc(j.Told, func(n Notice) bool {
			return n.Seq == h.Seq && n.Worker == h.Worker && n.Epoch >= epoch
		})
	})
}

// AnsweredIllegally says whether the job has results, but none with a legal status.
func (j *Job) AnsweredIllegally() bool {
	illegal := false
	for i := range j.Messages {
		if m := &j.Messages[i]; m.Consumer == history.ConsumerResult {
			if !m.Garbled {
				return false
			}
			illegal = true
		}
	}
	return illegal
}
