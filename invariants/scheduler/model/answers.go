package model

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Answers are the results by which the step may end its job: those that its process has in hand, or, of a write from the
// past, all that the stream was seen to store. One without a legal status ends nothing.
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

// Names says whether the step's process has a result in hand by which the job succeeds with that output.
func (j *Job) Names(s *Step, ptr string) bool {
	return slices.ContainsFunc(j.Answers(s), func(m *Message) bool { return m.Succeeded() && m.Answer.ResultPtr == ptr })
}

// failures says whether the step may end its job by a failure that is final, and whether by another.
func (j *Job) failures(s *Step) (fatal, other bool) {
	for _, m := range j.Answers(s) {
		if m.endsIn() == Failed {
			is := m.Answer.Status == history.StatusFatal
			fatal, other = fatal || is, other || !is
		}
	}
	return fatal, other
}

// Differs says in what a job that has ended by the result is not as the result says, and what that says; two empty words if
// it is. The output may be the redacted one instead, which the policy names.
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

// endsIn is the state that a result takes its job to, if no output policy blocks it (Scheduler internals, section 1).
func (m *Message) endsIn() State {
	if m.Answer.Status == history.StatusFatal {
		return Failed
	}
	return ParseState(m.Answer.Status)
}

// Succeeded says whether it is a result that says so.
func (m *Message) Succeeded() bool { return m.endsIn() == Succeeded }

// redactedAs says whether the policy has told some process that the redacted output is there.
func (o *outputJob) redactedAs(ptr string) bool {
	return slices.ContainsFunc(o.sync, func(a OutputVerdict) bool { return a.Decision == history.OutputRedact && a.Ptr != "" && a.Ptr == ptr })
}

// Owes says whether the step's worker was given a dispatch of the sequence that the step names, and which one it has still
// to answer; nil is none: the worker has published a result of its epoch, or its process has heard that it need not. Where a
// power loss has put one dispatch in the place of another, either will do.
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

// toldOff goes by every notice that has had the place of one that the process was given.
func (j *Job) toldOff(epoch int64, process string) bool {
	return slices.ContainsFunc(j.Heard, func(h Heard) bool {
		return h.Process == process && slices.ContainsFunc(j.Told, func(n Notice) bool {
			return n.Seq == h.Seq && n.Worker == h.Worker && n.Epoch >= epoch
		})
	})
}

// AnsweredIllegally says whether the job has results, and none that has a legal status.
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
