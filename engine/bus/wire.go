package bus

import (
	"context"
	"fmt"
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
	SubjectHeartbeat = "sys.heartbeat" // core NATS: a heartbeat that nobody hears is gone
)

// Durable consumers of CORDUM_SYS, which the scheduler's replicas share.
const (
	ConsumerSubmit = "scheduler-submit"
	ConsumerResult = "scheduler-result"
)

// SysSubjects and JobsSubjects are what the two streams store.
var (
	SysSubjects  = []string{SubjectSubmit, SubjectResult}
	JobsSubjects = []string{"job.>", "worker.*.jobs", "worker.*.jobs.>"}
)

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
