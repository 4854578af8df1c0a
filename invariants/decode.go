package invariants

import (
	"strings"

	"github.com/faultline-sim/faultline/sim"
)

// Names on the wire, from the documentation (seeds 003 and 004).
const (
	recordPrefix   = "job:"
	indexPrefix    = "job:index:"
	lockPrefix     = "cordum:scheduler:job:"
	outboxKey      = "cordum:scheduler:outbox"
	dlqPrefix      = "dlq:entry:"
	dlqIndex       = "dlq:index"
	streamJobs     = "CORDUM_JOBS"
	streamSys      = "CORDUM_SYS"
	subjectSubmit  = "sys.job.submit"
	subjectResult  = "sys.job.result"
	consumerSubmit = streamSys + "/scheduler-submit"
	consumerResult = streamSys + "/scheduler-result"
	subjectBeat    = "sys.heartbeat"
	headerJob      = "Job-Id"
	kindEffect     = sim.Kind("effect")
	schedulerNodes = "scheduler-"
	workerNodes    = "worker-"
	faultLose      = "lose"
	faultFailAfter = "fail-after"
)

// recordOf returns the job whose record key is, or "".
func recordOf(key string) string {
	if strings.HasPrefix(key, recordPrefix) && !strings.HasPrefix(key, indexPrefix) {
		return key[len(recordPrefix):]
	}
	return ""
}

// workerOf returns the worker that a dispatch's subject names: worker.<id>.jobs, or "" for a topic.
func workerOf(subject string) string {
	rest, ok := strings.CutPrefix(subject, "worker.")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, ".jobs")
	return id
}

// consumerOf returns the consumer, as stream/durable, that hands a subject's messages to the
// schedulers, or "" for none.
func consumerOf(subject string) string {
	switch subject {
	case subjectSubmit:
		return consumerSubmit
	case subjectResult:
		return consumerResult
	}
	return ""
}

// callerFailed says whether an event's caller was told of an error.
func callerFailed(e *sim.Event) bool {
	switch e.Outcome {
	case sim.OutcomeOK, sim.OutcomeNil, sim.OutcomePending:
		return false
	}
	return true
}
