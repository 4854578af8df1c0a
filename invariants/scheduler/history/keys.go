package history

import (
	"strings"

	"github.com/wavetank-sim/wavetank/sim"
)

// What is the subject of a fact.
type What int

// The subjects. The first are messages of the streams: stored or, if the change says so, gone.
const (
	Unknown       What = iota // not in the documentation
	Submission                // a job's request
	Result                    // a worker's answer
	Cancellation              // a client's wish to cancel a job
	Dispatch                  // a job, to a worker or a topic
	Void                      // a message in place of a dispatch
	Notice                    // a message to a worker that its job is cancelled
	Heartbeat                 // a worker's heartbeat; no stream keeps it
	Record                    // a job's record
	StateIndex                // the jobs in a state
	Deadlines                 // the jobs with a deadline
	Outbox                    // a job's entry in the outbox
	Lock                      // a job's lock
	Processed                 // a message that was handled, by its place
	Inflight                  // a message that is being handled, by its place
	TickLock                  // the lock of a task that one replica does for all
	Snapshot                  // the workers, as one replica knows them
	Letter                    // a job's dead letter
	MessageLetter             // a message's dead letter, by the message's place
	SagaLetter                // a compensation's dead letter
	LetterIndex               // all dead letters
	LettersDue                // the dead letters that the replay worker is to visit
	Growth                    // the alert that there are too many new dead letters
	Committed                 // who has done what an idempotency key stands for
	Breaker                   // the shared counter of a circuit
	Probes                    // the calls that are counted while it is half-open
	Output                    // a job's output
	Finding                   // the policy's finding on it
	Scans                     // the outputs that are still to be scanned
	SagaStack                 // a saga's compensations
	SagaLock                  // the lock of a saga's rollback
	Run                       // a workflow run's record
	RunLock                   // a run's lock
	Timers                    // the delays of all runs
	Rollbacks                 // the sagas to be rolled back, by time
	LiveRuns                  // the runs that are not over
	Audited                   // a decision in the audit trail
	Slots                     // a tenant's jobs in flight
	LoopLock                  // the lock of a loop that one replica does for all: over delays, runs or dead letters
)

// keys are the names of the keys in Redis. The owner follows the prefix, and precedes the suffix if there is
// one. A whole name is a single key. If two match, the first counts.
var keys = [...]struct {
	prefix, suffix string
	whole          bool
	what           What
}{
	{prefix: IndexPrefix, what: StateIndex},
	{prefix: DeadlinesKey, whole: true, what: Deadlines},
	{prefix: RecordPrefix, what: Record},
	{prefix: LockPrefix, what: Lock},
	{prefix: ProcessedPrefix, what: Processed},
	{prefix: InflightPrefix, what: Inflight},
	{prefix: OutboxKey, whole: true, what: Outbox},
	{prefix: SnapshotKey, whole: true, what: Snapshot},
	{prefix: WriterKey, whole: true, what: TickLock},
	{prefix: ReconcilerKey, whole: true, what: TickLock},
	{prefix: ReplayerKey, whole: true, what: TickLock},
	{prefix: PollerKey, whole: true, what: LoopLock},
	{prefix: RunsKey, whole: true, what: LoopLock},
	{prefix: LettersKey, whole: true, what: LoopLock},
	{prefix: breakerPrefix, suffix: ":failures", what: Breaker},
	{prefix: breakerPrefix, suffix: ":probes", what: Probes},
	{prefix: DlqPrefix + SagaLetters, what: SagaLetter},
	{prefix: DlqPrefix, what: Letter},
	{prefix: DlqIndex, whole: true, what: LetterIndex},
	{prefix: DlqDue, whole: true, what: LettersDue},
	{prefix: GrowthKey, whole: true, what: Growth},
	{prefix: CommittedPrefix, what: Committed},
	{prefix: "res:", what: Output},
	{prefix: "output:", what: Finding},
	{prefix: ScansKey, whole: true, what: Scans},
	{prefix: sagaPrefix, suffix: stackSuffix, what: SagaStack},
	{prefix: sagaPrefix, suffix: ":lock", what: SagaLock},
	{prefix: RollbacksKey, whole: true, what: Rollbacks},
	{prefix: RunLockPrefix, what: RunLock},
	{prefix: RunPrefix, what: Run},
	{prefix: TimersKey, whole: true, what: Timers},
	{prefix: LiveRunsKey, whole: true, what: LiveRuns},
	{prefix: AuditKey, whole: true, what: Audited},
	{prefix: TenantPrefix, suffix: TenantSuffix, what: Slots},
}

// KeyOf returns what a key of Redis is, and its owner.
func KeyOf(key string) (what What, of string) {
	for i := range keys {
		k := &keys[i]
		if !strings.HasPrefix(key, k.prefix) || k.whole && len(key) != len(k.prefix) {
			continue
		}
		of = key[len(k.prefix):]
		if k.suffix != "" {
			id, is := strings.CutSuffix(of, k.suffix)
			if !is {
				continue
			}
			of = id
		}
		if k.what == Letter && strings.HasPrefix(of, StreamSys+":") {
			return MessageLetter, of
		}
		return k.what, of
	}
	return Unknown, ""
}

// RecordOf returns the job whose record key is, or "".
func RecordOf(key string) string {
	if what, id := KeyOf(key); what == Record {
		return id
	}
	return ""
}

// SubjectOf returns what a message with a subject is, and for which worker. void says whether the message has
// the header of a void.
func SubjectOf(subject string, void bool) (what What, worker string) {
	switch subject {
	case SubjectSubmit:
		return Submission, ""
	case SubjectResult:
		return Result, ""
	case SubjectCancel:
		return Cancellation, ""
	case SubjectBeat:
		return Heartbeat, ""
	}
	rest, direct := strings.CutPrefix(subject, "worker.")
	if id, is := strings.CutSuffix(rest, ".cancel"); direct && is {
		return Notice, id
	}
	switch {
	case direct:
		worker, _, _ = strings.Cut(rest, ".")
	case !strings.HasPrefix(subject, "job."):
		return Unknown, ""
	}
	if void {
		return Void, worker
	}
	return Dispatch, worker
}

// WorkerOf returns the worker that a subject of the dispatch stream names, or "".
func WorkerOf(subject string) string {
	_, worker := SubjectOf(subject, false)
	return worker
}

// Classify returns what a change is about, and its owner: a job, a message by its place, a run or a saga.
func Classify(c *sim.Change) (what What, of string) {
	if c.Stream != "" {
		what, _ = SubjectOf(c.Subject, c.Header[HeaderVoid] != "")
		return what, c.Header[HeaderJob]
	}
	what, of = KeyOf(c.Key)
	if what == Outbox || what == LetterIndex || what == LettersDue || what == Scans { // its fields are jobs
		of = c.Field
	}
	return what, of
}
