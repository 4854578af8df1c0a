package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// Names of what a campaign has on the server.
const (
	jobObject    = "job.json"
	consumerName = "work" // the consumer for chunks
	anyChunk     = "wavetank.*.chunk.*"
)

// Deliveries of a chunk.
const (
	ackWait       = 30 * time.Second // after which a chunk that is not reported is redelivered
	deliveriesMax = 8                // after which the coordinator does the chunk itself
)

func chunksStream(digest string) string { return "wavetank-" + digest + "-chunks" }
func runsStream(digest string) string   { return "wavetank-" + digest + "-runs" }
func jobBucket(digest string) string    { return "wavetank-" + digest }

func chunkSubject(digest string, first int) string {
	return fmt.Sprintf("wavetank.%s.chunk.%d", digest, first)
}
func runSubject(digest string, n int) string { return fmt.Sprintf("wavetank.%s.run.%d", digest, n) }

// digestOf returns the digest of the campaign whose chunks a stream has.
func digestOf(stream string) (digest string, ok bool) {
	digest, ok = strings.CutPrefix(stream, "wavetank-")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(digest, "-chunks")
}

// chunkMessage asks for runs.
type chunkMessage struct {
	Campaign string `json:"campaign"` // the digest of its job
	campaign.Chunk
}

// runMessage is the record of a run.
type runMessage struct {
	Campaign string           `json:"campaign"`
	Worker   string           `json:"worker"`
	Record   *campaign.Record `json:"record"`
}

// facts are what the metadata of a stream of chunks say of the campaign, for readers without the job.
type facts struct {
	name, build, program string
	chunk                int // runs in a chunk
}

func (f facts) metadata() map[string]string {
	return map[string]string{"campaign": f.name, "build": f.build, "program": f.program, "chunk": strconv.Itoa(f.chunk)}
}

func factsOf(meta map[string]string) facts {
	chunk, _ := strconv.Atoi(meta["chunk"])
	return facts{meta["campaign"], meta["build"], meta["program"], chunk}
}

// replicasMax is how many servers of a cluster keep each stream.
const replicasMax = 3

// make makes or finds what a campaign has on the server: the job, the stream of records and, last, the stream
// of chunks, by which workers notice the campaign. It returns the facts on the server. If the server refuses
// a part, make removes the rest.
func (c *Conn) make(ctx context.Context, digest string, job []byte, f facts, ackWait time.Duration) (_ facts, err error) {
	var made []string
	defer func() {
		for _, name := range made {
			if refused(err) {
				_ = c.js.DeleteStream(ctx, name) // the refusal is reported
			}
		}
	}()
	fresh, err := c.keepJob(ctx, digest, job)
	if fresh {
		made = append(made, "OBJ_"+jobBucket(digest))
	}
	if err != nil {
		return f, err
	}
	runs := jetstream.StreamConfig{
		Name: runsStream(digest), Subjects: []string{"wavetank." + digest + ".run.*"}, Description: "what came of the runs of a Wavetank campaign",
		Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Compression: jetstream.S2Compression,
	}
	_, fresh, err = c.stream(ctx, runs)
	if fresh {
		made = append(made, runs.Name)
	}
	if err != nil {
		return f, err
	}
	chunks := jetstream.StreamConfig{
		Name: chunksStream(digest), Subjects: []string{"wavetank." + digest + ".chunk.*"}, Description: "runs of a Wavetank campaign that are still to be done",
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Metadata: f.metadata(),
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, // a chunk that waits is not asked for again
	}
	there, fresh, err := c.stream(ctx, chunks)
	if fresh {
		made = append(made, chunks.Name)
	}
	if err != nil {
		return f, err
	}
	_, err = there.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: deliveriesMax, MaxAckPending: -1,
	})
	return factsOf(there.CachedInfo().Config.Metadata), err
}

// keepJob stores the job for the machines, if it is missing or wrong.
func (c *Conn) keepJob(ctx context.Context, digest string, job []byte) (fresh bool, err error) {
	objects, err := c.js.ObjectStore(ctx, jobBucket(digest))
	if isGone(err) {
		err = replicated(ctx, func(ctx context.Context, replicas int) (err error) {
			objects, err = c.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: jobBucket(digest), Replicas: replicas})
			return err
		})
		fresh = err == nil
	}
	if err != nil {
		return fresh, err
	}
	hash := sha256.New()
	_, _ = hash.Write(job)
	if info, err := objects.GetInfo(ctx, jobObject); err == nil && info.Digest == jetstream.GetObjectDigestValue(hash) {
		return fresh, nil
	}
	_, err = objects.PutBytes(ctx, jobObject, job)
	return fresh, err
}

// stream makes or finds a stream.
func (c *Conn) stream(ctx context.Context, cfg jetstream.StreamConfig) (s jetstream.Stream, fresh bool, err error) {
	if s, err = c.js.Stream(ctx, cfg.Name); !isGone(err) {
		return s, false, err
	}
	err = replicated(ctx, func(ctx context.Context, replicas int) (err error) {
		cfg.Replicas = replicas
		s, err = c.js.CreateStream(ctx, cfg)
		return err
	})
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == overlaps {
		other, _ := c.js.StreamNameBySubject(ctx, cfg.Subjects[0])
		err = overlapError{cfg.Subjects[0], cmp.Or(other, "NAME"), err}
	}
	return s, err == nil, err
}

// overlaps is the server's error code for a stream whose subjects overlap with another's.
const overlaps = 10065

// overlapError says that another stream has subjects of a campaign.
type overlapError struct {
	subject, stream string
	error
}

func (e overlapError) Error() string {
	return fmt.Sprintf("the subjects %s are those of the stream %s, which is none of Wavetank's; take wavetank.> from its subjects (nats stream edit %s), or give another server or account", e.subject, e.stream, e.stream)
}

func (e overlapError) Unwrap() error { return e.error }

// replicated makes something with as many replicas as the server has machines for: one, without a cluster.
// Once it has asked, it waits even if ctx ends. Otherwise the server might process the abandoned request
// after a later one, and remake what the later one removed.
func replicated(ctx context.Context, create func(ctx context.Context, replicas int) error) (err error) {
	for _, replicas := range []int{replicasMax, 1} {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = create(context.WithoutCancel(ctx), replicas)
		var api *jetstream.APIError
		if !errors.As(err, &api) {
			return err
		}
	}
	return err
}

// remove removes what a campaign has on the server.
func (c *Conn) remove(ctx context.Context, digest string) (err error) {
	for _, name := range []string{chunksStream(digest), runsStream(digest)} {
		if e := c.js.DeleteStream(ctx, name); e != nil && !isGone(e) {
			err = errors.Join(err, e)
		}
	}
	if e := c.js.DeleteObjectStore(ctx, jobBucket(digest)); e != nil && !isGone(e) {
		err = errors.Join(err, e)
	}
	return err
}

// job reads a campaign's job, and checks it against its digest.
func (c *Conn) job(ctx context.Context, digest string) (*campaign.Job, error) {
	objects, err := c.js.ObjectStore(ctx, jobBucket(digest))
	if err != nil {
		return nil, err
	}
	text, err := objects.GetBytes(ctx, jobObject)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil, wrongJobError{digest, "is not there"}
	case errors.Is(err, jetstream.ErrDigestMismatch):
		return nil, wrongJobError{digest, "cannot be read"}
	case err != nil:
		return nil, err
	}
	job := &campaign.Job{}
	if err := json.Unmarshal(text, job); err != nil {
		return nil, wrongJobError{digest, "cannot be read"}
	}
	if is := job.Digest(); is != digest {
		return nil, wrongJobError{digest, "has the digest " + is + ", and is another's"}
	}
	return job, nil
}

// wrongJobError says that a job cannot be done.
type wrongJobError struct{ digest, how string }

func (e wrongJobError) Error() string {
	return fmt.Sprintf("the job of campaign %s %s, so that nobody works at it; start its coordinator again, which puts it right, or %s", e.digest, e.how, removal(e.digest))
}

// removal tells the user how to remove what a campaign has on the server.
func removal(digest string) string {
	return fmt.Sprintf("remove what is left of it with nats stream rm: %s, %s and OBJ_%s", chunksStream(digest), runsStream(digest), jobBucket(digest))
}

// each publishes a message for each element of a list, and waits until all are stored. A message that waits
// on the server already counts as stored.
func (c *Conn) each(ctx context.Context, size int, message func(i int) (subject string, content any)) error {
	futures := make([]jetstream.PubAckFuture, 0, size)
	for i := range size {
		subject, content := message(i)
		text, err := json.Marshal(content)
		if err != nil {
			return err
		}
		f, err := c.js.PublishAsync(subject, text)
		if err != nil {
			return err
		}
		futures = append(futures, f)
	}
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			if !strings.Contains(err.Error(), "maximum messages per subject exceeded") {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
