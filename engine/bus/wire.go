package bus

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/faultline-sim/faultline/engine/job"
)

// Streams and their subjects.
const (
	StreamSys  = "CORDUM_SYS"
	StreamJobs = "CORDUM_JOBS"

	SubjectSubmit    = "sys.job.submit"
	SubjectResult    = "sys.job.result"
	SubjectCancel    = "sys.job.cancel"
	SubjectHeartbeat = "sys.heartbeat" // core NATS: a heartbeat that nobody hears is gone
)

// Durable consumers of CORDUM_SYS, which the scheduler's replicas share.
const (
	ConsumerSubmit = "scheduler-submit"
	ConsumerResult = "scheduler-result"
	ConsumerCancel = "scheduler-cancel"
)

// SysSubjects and JobsSubjects are what the two streams store.
var (
	SysSubjects  = []string{SubjectSubmit, SubjectResult, SubjectCancel}
	JobsSubjects = []string{"job.>", "worker.*.jobs", "worker.*.jobs.>", "worker.*.cancel"}
)

// EpochSubject is where the dispatch of one epoch goes to one worker.
func EpochSubject(workerID, jobID string, epoch int64) string {
	return "worker." + workerID + ".jobs." + jobID + "." + strconv.FormatInt(epoch, 10)
}

// AnyWorker is every subject that a dispatch of the epoch can have: of the publishes to it, the
// stream stores one.
func AnyWorker(jobID string, epoch int64) string { return EpochSubject("*", jobID, epoch) }

// CancelSubject is where a worker hears that a job of its is cancelled.
func CancelSubject(workerID string) string { return "worker." + workerID + ".cancel" }

// Publish stores one message about a job and waits for the stream to confirm it. After an error the
// message may have been stored or not.
func Publish(ctx context.Context, js jetstream.JetStream, subject, jobID string, body []byte, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	msg := &nats.Msg{Subject: subject, Header: nats.Header{job.Header: {jobID}}, Data: body}
	if _, err := js.PublishMsg(ctx, msg); err != nil {
		return fmt.Errorf("publish to %s: %w", subject, err)
	}
	return nil
}
