package invariants

import (
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/sim"
)

// Names on the wire, from the documentation (Scheduler internals and Dead letters).
const (
	recordPrefix    = "job:"
	indexPrefix     = "job:index:"
	deadlinesKey    = "job:deadlines"
	lockPrefix      = "cordum:scheduler:job:"
	outboxKey       = "cordum:scheduler:outbox"
	reconcilerKey   = "cordum:reconciler:default"
	replayerKey     = "cordum:replayer:pending"
	writerKey       = "cordum:scheduler:snapshot:writer"
	snapshotKey     = "sys:workers:snapshot"
	processedPrefix = "cordum:bus:processed:"
	inflightPrefix  = "cordum:bus:inflight:"
	dlqPrefix       = "dlq:entry:"
	dlqIndex        = "dlq:index"
	streamJobs      = "CORDUM_JOBS"
	streamSys       = "CORDUM_SYS"
	subjectSubmit   = "sys.job.submit"
	subjectResult   = "sys.job.result"
	subjectCancel   = "sys.job.cancel"
	consumerSubmit  = streamSys + "/scheduler-submit"
	consumerResult  = streamSys + "/scheduler-result"
	consumerCancel  = streamSys + "/scheduler-cancel"
	subjectBeat     = "sys.heartbeat"
	headerJob       = "Job-Id"
	headerEpoch     = "Job-Epoch"
	headerVoid      = "Job-Void"
	reasonStale     = "stale_worker"
	reasonCancelled = "cancelled"
	dlqAtomic       = "atomic"
	dlqThenState    = "dlq-then-state"
	kindEffect      = sim.Kind("effect")
	schedulerNodes  = "scheduler-"
	workerNodes     = "worker-"
	kernelNode      = "kernel"
	faultFailAfter  = "fail-after"
	faultLate       = "late"
)

// recordOf returns the job whose record key is, or "".
func recordOf(key string) string {
	if strings.HasPrefix(key, recordPrefix) && !strings.HasPrefix(key, indexPrefix) && key != deadlinesKey {
		return key[len(recordPrefix):]
	}
	return ""
}

// recordOfLock returns the job whose lock's key is, or "".
func recordOfLock(key string) string {
	id, _ := strings.CutPrefix(key, lockPrefix)
	if id == key {
		return ""
	}
	return id
}

// toldOf returns the worker that a cancel notice is for, by its subject worker.<id>.cancel.
func toldOf(subject string) (worker string, ok bool) {
	rest, is := strings.CutPrefix(subject, "worker.")
	if !is {
		return "", false
	}
	return strings.CutSuffix(rest, ".cancel")
}

// epochOf returns the epoch that a message's header names; 0 for none.
func epochOf(c *sim.Change) int64 {
	n, _ := strconv.ParseInt(c.Header[headerEpoch], 10, 64)
	return n
}

// consumerOf returns the consumer, as stream/durable, that hands a subject's messages to the
// schedulers, or "" for none.
func consumerOf(subject string) string {
	switch subject {
	case subjectSubmit:
		return consumerSubmit
	case subjectResult:
		return consumerResult
	case subjectCancel:
		return consumerCancel
	}
	return ""
}
