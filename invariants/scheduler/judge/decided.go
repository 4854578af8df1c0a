package judge

import (
	"encoding/json"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"
)

// request is what a dispatch has of the request that it is of.
type request struct {
	Topic          string          `json:"topic"`
	IdempotencyKey string          `json:"idempotency_key"`
	Payload        json.RawMessage `json:"payload"`
}

func (r *request) same(other *request) bool {
	return r.Topic == other.Topic && r.IdempotencyKey == other.IdempotencyKey && string(r.Payload) == string(other.Payload)
}

var dispatchIsWhatWasDecided = checking(invariants.Invariant{
	Name:   "dispatch-is-what-was-decided",
	Says:   "Where a safety kernel decides, what is dispatched is the request that the record keeps with the decision: its topic, its payload and its idempotency key; and the worker that the dispatch names is the one that it goes to.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, submit-time and dispatch-time policy check: what was allowed is what runs",
}, func(f *facts, t *tally) checker {
	decided := map[*job]string{} // the request in the record, when SCHEDULED was written last
	kept := map[*job]string{}
	return checker{
		wrote: func(s *step, _ *write) {
			for i := range s.Changes {
				if c := &s.Changes[i]; c.Key == history.RecordPrefix+s.about.id && c.Field == "request" {
					kept[s.about] = c.Value
				}
			}
			if s.about.state == scheduled && s.about.decision != "" {
				decided[s.about] = kept[s.about]
			}
		},
		stored: func(s *step, d *dispatch) {
			var sent struct {
				request
				WorkerID string `json:"worker_id"`
			}
			var asked request
			for i := range s.Changes {
				c := &s.Changes[i]
				if c.Stream != history.StreamJobs || c.Seq != d.seq || json.Unmarshal([]byte(c.Value), &sent) != nil || json.Unmarshal([]byte(decided[s.about]), &asked) != nil {
					continue
				}
				t.exercise()
				switch {
				case sent.WorkerID != d.worker:
					t.violated(s.about, "the dispatch stored at step %d, %s seq %d, is for %q, and names %q", s.Step, history.StreamJobs, d.seq, d.worker, sent.WorkerID)
				case !sent.same(&asked):
					t.violated(s.about, "what was dispatched at step %d, %s seq %d, is not the request of which the safety kernel decided", s.Step, history.StreamJobs, d.seq)
				}
			}
		},
	}
})
