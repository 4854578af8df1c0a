package model

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Series is one series of a counter: its name, and the values of the labels that events show, in the order of
// the labels' names.
type Series struct {
	Name   string
	Labels [2]string
}

// Count is how often events show what a series counts for sure, and how often it may also have happened.
type Count struct{ Sure, Maybe int }

// counts is what the schedulers' counters should be, by what the callers of operations were told.
type counts struct {
	Series map[Series]Count

	Crashes         int // of schedulers
	RetriesCutShort int // jobs that these schedulers had in hand
	StaleMaybe      int // handlings whose picks may have met a worker past its TTL
	LockLeft        int // locks whose holders do not know that they have them
}

// Sure counts what has happened.
func (n *counts) Sure(name string, labels ...string) { n.add(Count{Sure: 1}, name, labels...) }

// Maybe counts what may have happened; Not takes it back.
func (n *counts) Maybe(name string, labels ...string) { n.add(Count{Maybe: 1}, name, labels...) }
func (n *counts) Not(name string, labels ...string)   { n.add(Count{Maybe: -1}, name, labels...) }

func (n *counts) add(c Count, name string, labels ...string) {
	s := Series{Name: name}
	copy(s.Labels[:], labels)
	if n.Series == nil {
		n.Series = map[Series]Count{}
	}
	n.Series[s] = n.Series[s].And(c)
}

// stateReads and stateWrites are the phases in which a scheduler reads and writes one job's state.
var (
	stateReads  = []string{"state_read", "timeout_read", "quarantine_read", "replay_read", "scan_read"}
	stateWrites = []string{
		"pending_write", "scheduled_write", "dispatched_write", "rollback_write", "running_write", "result_write", "failed_write", "timeout_write",
		"cancel_write", "approval_write", "denied_write", "approved_write", "output_write",
	}
)

// RedisAnswered counts the failure of a scheduler's operation on a job's lock or record, or on the outbox.
func (f *Facts) RedisAnswered(s *Step) {
	if !s.Failed || s.Kind != sim.KindRedis && s.Kind != sim.KindReturn || s.Outcome == sim.OutcomePending || !strings.HasPrefix(s.Node, history.SchedulerNodes) {
		return
	}
	operation := ""
	switch {
	case s.About == nil:
	case s.Phase == "lock_acquire":
		operation = "lock"
	case slices.Contains(stateReads, s.Phase):
		operation = "read"
	case slices.Contains(stateWrites, s.Phase) && s.Name != "hsetnx": // hsetnx keeps a cancellation and writes no state
		operation = "write"
	}
	if operation != "" {
		f.Count.Sure(history.CounterRedisErrors, operation)
	}
	if strings.HasPrefix(s.Phase, "outbox_") {
		f.Count.Sure(history.CounterOutboxRetries, s.Phase)
	}
	if s.Phase == "outbox_remove" { // with RUNNING, or without
		f.Count.Maybe(history.CounterRedisErrors, "write")
	}
}

// And is the sum of two counts.
func (c Count) And(d Count) Count { return Count{c.Sure + d.Sure, c.Maybe + d.Maybe} }
