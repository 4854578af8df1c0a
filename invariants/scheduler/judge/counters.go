package judge

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/replay"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// compared is a counter, or a gauge, that is compared with the events. Some of the others count what no event shows: a stale
// pick, for one, happens in memory.
type compared struct {
	name   string
	labels string // those that events tell, in the order of their names; the counter is added up over the others
	what   string
	mixed  bool // of two handlings that are of one job and one process, events do not say which is which
	least  bool // events show only some of what it counts
}

var counters = []compared{
	{name: history.CounterReceived, labels: "topic", what: "requests that were delivered and not skipped, and jobs that a replayer took up"},
	{name: history.CounterOrphans, labels: "topic", what: "SCHEDULED writes of a replayer that were confirmed", mixed: true},
	{name: history.CounterDispatched, labels: "topic", what: "publishes of dispatches that were confirmed, and stored"},
	{name: history.CounterDuplicates, labels: "topic", what: "publishes of dispatches that were confirmed, of which nothing was stored"},
	{name: history.CounterCompleted, labels: "status topic", what: "terminal writes that were confirmed"},
	{name: history.CounterRollbacks, labels: "topic", what: "rollback writes", mixed: true},
	{name: history.CounterRollbacksFailed, labels: "topic", what: "rollback writes that failed", mixed: true},
	{name: history.CounterRunningsFailed, labels: "topic", what: "RUNNING writes that failed", mixed: true},
	{name: history.CounterLetterWriteFailed, what: "DLQ writes that failed"},
	{name: history.CounterOutboxVoided, labels: "topic", what: "outbox entries that were dropped unpublished"},
	{name: history.CounterVoids, labels: "topic", what: "messages that took the place of a dispatch"},
	{name: history.CounterFenced, labels: "phase topic", what: "state writes that looked and were not made", mixed: true},
	{name: history.CounterStaleResults, labels: "topic", what: "state reads of jobs that are not over, for a result of an older epoch"},
	{name: history.CounterDenied, labels: "topic", what: "DENIED writes that were confirmed"},
	{name: history.CounterUnavailable, labels: "topic", what: "handlings that asked the safety kernel and had no answer", least: true},
	{name: history.CounterApprovalsRequired, labels: "topic", what: "APPROVAL_REQUIRED writes, and requests in their place, that were confirmed"},
	{name: history.CounterApprovalsGranted, labels: "topic", what: "PENDING writes of approved jobs that were confirmed"},
	{name: history.CounterApprovalsRefused, labels: "reason topic", what: "requests whose approval is too old, or of another"},
	{name: history.CounterSkipped, labels: "topic", what: "findings that say that the output policy gave no answer", least: true},
	{name: history.CounterChecked, labels: "topic", what: "answers of the output policy"},
	{name: history.CounterQuarantined, labels: "topic", what: "OUTPUT_QUARANTINED writes that were confirmed"},
	{name: history.CounterLetters, labels: "reason_code", what: "dead letters that were confirmed"},
	{name: history.CounterReplays, labels: "outcome", what: "changes of dead letters by schedulers"},
	{name: history.CounterReplaysDenied, labels: "reason_code", what: "denials of replays that schedulers wrote or saw"},
	{name: history.CounterResumed, labels: "topic", what: "dispatches of an earlier handling that a later one saw stored", mixed: true},
	{name: history.CounterGivenUp, labels: "consumer", what: "messages whose last delivery was sent back"},
	{name: history.CounterRecorded, what: "writes of a compensation onto a stack that were confirmed"},
	{name: history.CounterRolledBack, what: "locks of a rollback that were taken"},
	{name: history.CounterCompensated, what: "submissions of compensations that were confirmed"},
	{name: history.CounterUncompensated, what: "submissions of compensations that failed", least: true},
	{name: history.CounterUnreadable, what: "dead letters of compensations that nobody can read", least: true},
	{name: history.CounterFailOpen, labels: "topic", what: "SCHEDULED writes with the decision FAIL_OPEN", least: true},
	{name: history.CounterReads, labels: "outcome topic", what: "reads of a job's state for its request", mixed: true},
	{name: history.CounterRedisErrors, labels: "operation", what: "state reads, state writes and takings of a job's lock that Redis failed"},
	{name: history.CounterRenewalsAbandoned, what: "locks of jobs whose renewal has failed as often in a row as it may", mixed: true},
	{name: history.CounterRetries, what: "messages that were sent back after a handling", least: true},
	{name: history.CounterOutboxRetries, labels: "phase", what: "operations of a relay that failed", least: true},
	{name: history.GaugeHandling, what: "messages that a process has in hand"},
	{name: history.GaugeRollingBack, what: "rollbacks that have begun, and not given their locks back"},
	{name: history.CounterFailClosed, what: "handlings that did nothing after a failed state read", mixed: true},
}

var countersEqualTrace = rule.New(invariants.Invariant{
	Name:   "counters-equal-trace",
	Says:   "Most of the schedulers' counters equal what the events show, under the labels that the events show: handled requests, replayed orphans, dispatches, completions, denials, approvals, stale results, quarantines, answers of the output policy, dead letters and their outcomes, rollbacks, failed and fenced writes, resumed and voided intents, messages given up, recorded and submitted compensations, rollbacks of sagas, refused approvals, state reads, errors of Redis, abandoned renewals and fail-closed reads. Some counters are at least what the events show, because the events do not show everything: jobs that went on without a decision, questions to the policies without an answer, retries, and compensations that failed or cannot be read. The gauges of messages and rollbacks under way are at most what the events show. If a scheduler crashes, its last action may or may not be counted.",
	Kind:   invariants.Eventually,
	Source: "Dispatch ordering, publish failure recovery and next step 1; State-read errors, next step 1; Scheduler internals, section 10",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(end *invariants.End) {
		if end.Metrics == nil {
			return
		}
		want, got := shown(f), said(end.Metrics)
		for i := range counters {
			c := &counters[i]
			if f.Mixed && c.mixed {
				continue
			}
			t.Exercise()
			differ, few, many := c.compare(want, got)
			if fewer, more := leftOpen(f, c.name, end); few > fewer || many > more {
				for _, s := range differ {
					n := want[s]
					t.Violation(nil, "%s%s is %g, but the events show %d: %s", c.name, c.labelled(s), got[s], n.Sure+n.Maybe, c.what)
				}
			}
		}
	}}
})

// leftOpen is how many fewer and how many more than events show a scheduler may have counted: what a crash interrupts is counted
// or not, and so is what the end of the run keeps its scheduler from going on with. Gauges are of the processes that are up.
func leftOpen(f *model.Facts, name string, end *invariants.End) (fewer, more float64) {
	crashes := float64(f.Count.Crashes)
	switch name {
	case history.GaugeHandling, history.GaugeRollingBack:
		return 0, 0
	case history.CounterChecked:
		return crashes + float64(f.Policy.AnswersCutShort(history.CircuitOutput, end.At)), crashes
	}
	return crashes, crashes
}

// shown is what the events show of every series.
func shown(f *model.Facts) map[model.Series]model.Count {
	want := map[model.Series]model.Count{}
	for s, n := range f.Count.Series {
		if s.Name == history.CounterLetters || s.Name == history.CounterReplaysDenied {
			s.Labels[0] = replay.CodeLabel(s.Labels[0])
		}
		want[s] = want[s].And(n)
	}
	handlings, rollbacks := f.UnderWay()
	want[model.Series{Name: history.GaugeHandling}] = model.Count{Maybe: handlings}
	want[model.Series{Name: history.GaugeRollingBack}] = model.Count{Maybe: rollbacks}
	for _, j := range f.Order {
		for i := range j.Handlings { // those that the end has cut short
			if s := (model.Series{Name: history.CounterFailClosed}); j.Handlings[i].FailedClosed() {
				want[s] = want[s].And(model.Count{Sure: 1})
			}
		}
	}
	return want
}

// said is what the schedulers say of every series of the counters that are compared.
//
// A request that the cached state skips ends like one that fails closed: with nothing done after a failed read. Only what is
// acknowledged tells them apart, so they are counted together.
func said(metrics map[string]float64) map[model.Series]float64 {
	got := map[model.Series]float64{}
	for key, v := range metrics {
		name, rest, _ := strings.Cut(key, "{")
		if name == history.CounterCached && label(rest, "decision") == "skip" {
			name = history.CounterFailClosed
		}
		i := slices.IndexFunc(counters, func(c compared) bool { return c.name == name })
		if i < 0 {
			continue
		}
		s := model.Series{Name: name}
		for k, of := range strings.Fields(counters[i].labels) {
			s.Labels[k] = label(rest, of)
		}
		got[s] += v
	}
	return got
}

// label is the value of a label in the labels of a series, label="value",...}; "" if there is none.
func label(labels, name string) string {
	for labels != "" {
		of, rest, _ := strings.Cut(labels, "=")
		quoted, err := strconv.QuotedPrefix(rest)
		if value, _ := strconv.Unquote(quoted); err != nil || of == name {
			return value
		}
		labels = rest[len(quoted)+1:]
	}
	return ""
}

// compare says which series of the counter differ from what the events show, and how many are too few and too many in all.
func (c *compared) compare(want map[model.Series]model.Count, got map[model.Series]float64) (differ []model.Series, few, many float64) {
	all := maps.Clone(want)
	for s := range got {
		all[s] = want[s]
	}
	for s, n := range all {
		if s.Name != c.name {
			continue
		}
		less, more := max(0, float64(n.Sure)-got[s]), max(0, got[s]-float64(n.Sure+n.Maybe))
		if c.least {
			more = 0
		}
		if less > 0 || more > 0 {
			differ, few, many = append(differ, s), few+less, many+more
		}
	}
	slices.SortFunc(differ, func(a, b model.Series) int { return slices.Compare(a.Labels[:], b.Labels[:]) })
	return differ, few, many
}

// labelled are the labels of one of the counter's series. One that is empty is as good as none.
func (c *compared) labelled(s model.Series) string {
	var list []string
	for i, name := range strings.Fields(c.labels) {
		if s.Labels[i] != "" {
			list = append(list, name+"="+strconv.Quote(s.Labels[i]))
		}
	}
	if list == nil {
		return ""
	}
	return "{" + strings.Join(list, ",") + "}"
}

// sum adds a counter up over its labels, or over those of its series that have the given one.
func sum(metrics map[string]float64, name, label string) (total float64) {
	for key, v := range metrics {
		if rest, ok := strings.CutPrefix(key, name); ok && (rest == "" || rest[0] == '{') && strings.Contains(rest, label) {
			total += v
		}
	}
	return total
}
