package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// Client submits jobs, approves and cancels them, and starts workflow runs. It is safe for concurrent use.
type Client struct {
	store    *store.Store
	runs     *workflow.Store
	replica  *store.Replica // nil without wait_replica
	js       jetstream.JetStream
	clock    clockwork.Clock
	settings settings.Settings
}

// NewClient returns a client, or says everything that is wrong with its configuration. It does no
// I/O.
func NewClient(c ClientConfig) (*Client, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	client := &Client{
		store:    &store.Store{Redis: c.Redis, Clock: c.Clock, Timeout: c.Settings.StoreOpTimeout},
		runs:     &workflow.Store{Redis: c.Redis, Clock: c.Clock, Timeout: c.Settings.StoreOpTimeout, Durable: c.Settings.Workflow.DurableTimers},
		js:       c.JetStream,
		clock:    c.Clock,
		settings: c.Settings,
	}
	client.replica = replicaOf(c.Redis, &c.Settings)
	return client, nil
}

// ErrTooLarge says that a request has more bytes than NATS takes.
var ErrTooLarge = errors.New("the request is too large for NATS")

// dispatchMore bounds what a dispatch may have in bytes that its request has not: headers, the worker, the attempt,
// the epoch and the labels of an approval, in all of which there are at most four names, of 256 bytes at most. What
// a safety kernel's constraints add, nobody knows before.
const dispatchMore = 2 << 10

// Submit stores a request as PENDING and publishes it. After an error, submit the same job id again:
// a record that exists is left alone, and only the request is published once more. But a request that is
// ErrTooLarge can never be submitted, and nothing of it is stored. A request without an idempotency key gets its
// job id for one.
func (c *Client) Submit(ctx context.Context, req job.Request) error {
	packet, err := pack(&req)
	if err != nil {
		return err
	}
	if err := c.fits(packet); err != nil {
		return fmt.Errorf("submit %s: %w", req.JobID, err)
	}
	if _, err := create(ctx, c.store, &req, packet); err != nil {
		return err
	}
	return publishRequest(ctx, c.js, req.JobID, packet, c.settings.PublishTimeout)
}

// fits says whether NATS takes a request and its dispatch, by what the server said last that it takes; a client
// that has not been connected yet does not know.
func (c *Client) fits(packet []byte) error {
	limit := c.js.Conn().MaxPayload()
	if limit > 0 && int64(len(packet)+dispatchMore) > limit {
		return fmt.Errorf("%w: it has %d bytes, and %d are kept for what its dispatch has more; the server takes %d in one message (max_payload)",
			ErrTooLarge, len(packet), dispatchMore, limit)
	}
	return nil
}

// pack is a submitted request as it is published and stored.
func pack(req *job.Request) ([]byte, error) {
	req.DefaultKey()
	err := req.Validate()
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	packet, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("submit %s: %w", req.JobID, err)
	}
	return packet, nil
}

// create stores a submitted request as PENDING, and says whether there was no record of the job before.
func create(ctx context.Context, s *store.Store, req *job.Request, packet []byte) (created bool, err error) {
	if created, err = s.Create(phase.With(ctx, req.JobID, phase.SubmitWrite), req, packet); err != nil {
		return false, fmt.Errorf("submit %s: %w", req.JobID, err)
	}
	return created, nil
}

// publishRequest publishes a request that is stored.
func publishRequest(ctx context.Context, js jetstream.JetStream, jobID string, packet []byte, timeout time.Duration) error {
	err := bus.Publish(phase.With(ctx, jobID, phase.SubmitPublish), js,
		bus.Message{Subject: bus.SubjectSubmit, JobID: jobID, Body: packet}, timeout)
	if err != nil {
		return fmt.Errorf("submit %s: %w", jobID, err)
	}
	return nil
}

// Cancel asks for a job to be cancelled, for a reason in words, which may be empty. It returns once the
// stream holds the request; a job that is over by the time it is handled stays as it is. With keep_cancellations, a job
// without a record finds the request in Redis, whatever becomes of the message. After an error, cancel again: a second
// request changes nothing.
func (c *Client) Cancel(ctx context.Context, jobID, reason string) error {
	packet := job.Cancel{JobID: jobID, Reason: reason}
	if err := packet.Validate(); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	body, err := json.Marshal(packet)
	if err != nil {
		return fmt.Errorf("cancel %s: %w", jobID, err)
	}
	if c.settings.KeepCancellations {
		if err := c.store.KeepCancelAhead(phase.With(ctx, jobID, phase.CancelKeep), &packet); err != nil {
			return fmt.Errorf("cancel %s: %w", jobID, err)
		}
	}
	err = bus.Publish(phase.With(ctx, jobID, phase.CancelPublish), c.js,
		bus.Message{Subject: bus.SubjectCancel, JobID: jobID, Body: body}, c.settings.PublishTimeout)
	if err != nil {
		return fmt.Errorf("cancel %s: %w", jobID, err)
	}
	return nil
}
