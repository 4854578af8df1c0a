package judge

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

var eventsAgreeWithServers = rule.New(invariants.Invariant{
	Name:   "events-agree-with-servers",
	Says:   "The changes that the steps made add up to the records that Redis holds at the end.",
	Kind:   invariants.Always,
	Source: "the testbed itself: an oracle that misses a change can judge nothing",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(end *invariants.End) {
		// Violations of this invariant concern the run, even if they name a job: they stop the checks at the
		// end.
		for _, j := range f.Order {
			t.Exercise()
			record := end.Redis[history.RecordPrefix+j.ID]
			if is := recordState(record); is != j.State {
				t.Violation(nil, "%s is %s in Redis, but the steps left it %s (step %d)", j.ID, is, j.State, invariants.StepNo(j.StateAt))
			}
			if is, _ := strconv.Atoi(record["attempts"]); is != j.Attempts {
				t.Violation(nil, "%s has attempts %d in Redis, but the steps left it %d", j.ID, is, j.Attempts)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(end.Redis)) {
			if id := history.RecordOf(key); id != "" && f.Jobs[id] == nil {
				t.Violation(nil, "Redis holds a record of %s, which no step wrote", id)
			}
		}
	}}
})

var redisIndexAgreesWithRecord = rule.New(invariants.Invariant{
	Name:   "redis-index-agrees-with-record",
	Says:   "Every record is in the index of its state, with the time of its last update, and in no other index. A job that has a deadline and is not over is in job:deadlines with that deadline. No other job is there.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, sections 1 and 3: the reconciler finds stale jobs by state and updated_at, and those with explicit deadlines",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	revived := map[*model.Job]bool{} // the job's end removed it from job:deadlines, and it went on
	judge := func(end *invariants.End) {
		for _, j := range f.Order {
			record := end.Redis[history.RecordPrefix+j.ID]
			if recordState(record) == model.Absent {
				continue
			}
			t.Exercise()
			index := history.IndexPrefix + record["state"]
			switch score, there := end.Redis[index][j.ID]; {
			case !there:
				t.Violation(j, "the record says %s, but %s does not list it", record["state"], index)
			case score != record["updated_at"]:
				t.Violation(j, "the record was updated at %s, but %s has it at %s", record["updated_at"], index, score)
			}
			if due := record["deadline_at"]; due != "" && !j.State.Terminal() && !revived[j] {
				if score := end.Redis[history.DeadlinesKey][j.ID]; score != due {
					t.Violation(j, "is %s, and its deadline is %s, but %s has it at %s", j.State, due, history.DeadlinesKey, cmp.Or(score, "none"))
				}
			}
		}
		for _, id := range slices.Sorted(maps.Keys(end.Redis[history.DeadlinesKey])) {
			if record := end.Redis[history.RecordPrefix+id]; record["deadline_at"] == "" || recordState(record).Terminal() {
				t.Violation(f.Job(id), "%s lists it, but the record says %s, and deadline_at %q", history.DeadlinesKey, recordState(record), record["deadline_at"])
			}
		}
		for _, key := range slices.Sorted(maps.Keys(end.Redis)) {
			what, word := history.KeyOf(key)
			if what != history.StateIndex {
				continue
			}
			for _, id := range slices.Sorted(maps.Keys(end.Redis[key])) {
				if is := end.Redis[history.RecordPrefix+id]["state"]; is != word {
					t.Violation(f.Job(id), "%s lists it, but the record says %s", key, recordState(end.Redis[history.RecordPrefix+id]))
				}
			}
		}
	}
	wrote := func(s *model.Step, w *model.Write) {
		if w.From.Terminal() && !s.About.State.Terminal() {
			revived[s.About] = true
		}
		if j := s.About; j.Deadline != 0 && w.Deadline == 0 && !slices.ContainsFunc(s.Changes, func(c sim.Change) bool { return c.Key == history.DeadlinesKey && c.Field == j.ID && !c.Gone }) {
			t.Violation(j, "%s gave it a deadline at step %d (%s), and did not list it in %s", invariants.Who(s.Event), invariants.StepNo(s.Step), s.Phase, history.DeadlinesKey)
		}
	}
	return observe.Checker{Wrote: wrote, Ended: judge, Audited: judge}
})

func recordState(record map[string]string) model.State {
	if record["state"] == "" { // it may hold the cancellation of a job that never came
		return model.Absent
	}
	return model.ParseState(record["state"])
}
