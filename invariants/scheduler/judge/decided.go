package judge

import (
	"encoding/json"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
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
}, func(f *model.Facts, t *tally) observe.Checker {
	decided := map[*model.Job]string{} // the request in the record, when SCHEDULED was written last
	kept := map[*model.Job]string{}
	return observe.Checker{
		Wrote: func(s *model.Step, _ *model.Write) {
			for i := range s.Changes {
				if c := &s.Changes[i]; c.Key == history.RecordPrefix+s.About.ID && c.Field == "request" {
					kept[s.About] = c.Value
				}
			}
			if s.About.State == model.Scheduled && s.About.Decision != "" {
				decided[s.About] = kept[s.About]
			}
		},
		Stored: func(s *model.Step, d *model.Dispatch) {
			var sent struct {
				request
				WorkerID string `json:"worker_id"`
			}
			var asked request
			for i := range s.Changes {
				c := &s.Changes[i]
				if c.Stream != history.StreamJobs || c.Seq != d.Seq || json.Unmarshal([]byte(c.Value), &sent) != nil || json.Unmarshal([]byte(decided[s.About]), &asked) != nil {
					continue
				}
				t.exercise()
				switch {
				case sent.WorkerID != d.Worker:
					t.violated(s.About, "the dispatch stored at step %d, %s seq %d, is for %q, and names %q", s.Step, history.StreamJobs, d.Seq, d.Worker, sent.WorkerID)
				case !sent.same(&asked):
					t.violated(s.About, "what was dispatched at step %d, %s seq %d, is not the request of which the safety kernel decided", s.Step, history.StreamJobs, d.Seq)
				}
			}
		},
	}
})
