package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Streams and their subjects. CORDUM, like the cordum of Redis keys, is the name of the product whose documents
// specify this scheduler; see SPECIFICATION.md.
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

// Nobody is whom a void is for that stands in the place of a dispatch to a worker whom its sender does not know.
const Nobody = "-"

// AnyWorker is every subject that a dispatch of the epoch can have: of the publishes to it, the
// stream stores one.
func AnyWorker(jobID string, epoch int64) string { return EpochSubject("*", jobID, epoch) }

// CancelSubject is where a worker hears that a job of its is cancelled.
func CancelSubject(workerID string) string { return "worker." + workerID + ".cancel" }

// Message is one message about a job.
type Message struct {
	Subject string
	JobID   string
	Epoch   int64  // of the dispatch that it is or is about; 0 for none
	ID      string // of the messages with it, the stream stores one in its duplicate window; "" for none
	Void    bool   // it stands in a dispatch's place
	Once    bool   // the stream is to store it only if it holds none of the epoch, to any worker
	Body    []byte // JSON
}

// ErrStored says that the stream holds a message of the epoch already, and did not store another.
var ErrStored = errors.New("the stream holds a message of this epoch already")

// ErrDuplicate says that the stream has confirmed a message and stored none, as it remembers the ID. It
// does not say what it holds of that ID, or for whom.
var ErrDuplicate = errors.New("the stream remembers the message's id, and has stored no other")

// onceFrom is the first version of nats-server that heeds the subject of Message.Once, which has wildcards. One before
// leaves the header out, and stores a second dispatch of an epoch.
var onceFrom = [2]int{2, 11}

// CheckOnce returns an [ErrUnfit] if a nats-server of that version does not heed Message.Once.
func CheckOnce(version string) error {
	var is [2]int
	if _, err := fmt.Sscanf(version, "%d.%d", &is[0], &is[1]); err != nil { // it does not say
		return nil
	}
	if slices.Compare(is[:], onceFrom[:]) < 0 {
		return unfit(fmt.Sprintf("it is nats-server %s, which does not keep an epoch to one dispatch; run %d.%d or later, or set epochs to false", version, onceFrom[0], onceFrom[1]))
	}
	return nil
}

// Publish stores a message and waits for the stream to confirm it. After an error the message may
// have been stored or not, unless the error is ErrStored, ErrDuplicate or [Refused].
func Publish(ctx context.Context, js jetstream.JetStream, m Message, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	msg := &nats.Msg{Subject: m.Subject, Header: nats.Header{job.Header: {m.JobID}}, Data: m.Body}
	if m.Epoch != 0 {
		msg.Header.Set(job.HeaderEpoch, strconv.FormatInt(m.Epoch, 10))
	}
	if m.Void {
		msg.Header.Set(job.HeaderVoid, "1")
	}
	var opts []jetstream.PublishOpt
	if m.Once {
		opts = append(opts, jetstream.WithExpectLastSequenceForSubject(0, AnyWorker(m.JobID, m.Epoch)))
	}
	if m.ID != "" {
		opts = append(opts, jetstream.WithMsgID(m.ID))
	}
	ack, err := js.PublishMsg(ctx, msg, opts...)
	switch {
	case err == nil && ack.Duplicate:
		return fmt.Errorf("publish to %s: %w", m.Subject, ErrDuplicate)
	case err == nil:
		return nil
	case m.Once && stored(err):
		err = errors.Join(ErrStored, err)
	}
	return fmt.Errorf("publish to %s: %w", m.Subject, err)
}

func stored(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// Refused says whether a failed publish was certainly not stored: the stream said so, or there is
// no stream, or the message is too large to be sent.
func Refused(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrNoStreamResponse) || TooLarge(err) || errors.As(err, &api) && !stored(err)
}

// TooLarge says whether a publish failed because its message has more bytes than the server takes, or than the
// stream does: a refusal that says nothing of any other message, and that stands however often it is repeated.
func TooLarge(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, nats.ErrMaxPayload) || errors.As(err, &api) && api.ErrorCode == messageTooLarge
}

const messageTooLarge = 10054 // "message size exceeds maximum allowed"

// Stored is what a stream holds of an epoch.
type Stored struct {
	WorkerID string
	Void     *job.Void // no dispatch, and none can follow; nil if it is one
}

// ReadEpoch returns what the stream of dispatches holds of an epoch.
func ReadEpoch(ctx context.Context, jobs jetstream.Stream, jobID string, epoch int64, timeout time.Duration) (Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	subject := AnyWorker(jobID, epoch)
	msg, err := jobs.GetLastMsgForSubject(ctx, subject)
	if err != nil {
		return Stored{}, fmt.Errorf("read %s of %s: %w", subject, StreamJobs, err)
	}
	rest, _ := strings.CutPrefix(msg.Subject, "worker.")
	worker, _, _ := strings.Cut(rest, ".")
	held := Stored{WorkerID: worker}
	if msg.Header.Get(job.HeaderVoid) != "" {
		held.Void = new(job.Void)
		if err := json.Unmarshal(msg.Data, held.Void); err != nil {
			return Stored{}, fmt.Errorf("void on %s of %s: %w", subject, StreamJobs, err)
		}
	}
	return held, nil
}
