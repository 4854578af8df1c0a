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

// What is kept of a campaign on the server.
const (
	jobObject    = "job.json"
	consumerName = "work" // by which chunks are taken
	anyChunk     = "wavetank.*.chunk.*"
)

// Deliveries of a chunk.
const (
	ackWait       = 30 * time.Second // after which one that nobody speaks of is delivered again
	deliveriesMax = 8                // after which the coordinator does it itself
)

func chunksStream(digest string) string { return "wavetank-" + digest + "-chunks" }
func runsStream(digest string) string   { return "wavetank-" + digest + "-runs" }
func jobBucket(digest string) string    { return "wavetank-" + digest }

func chunkSubject(digest string, first int) string {
	return fmt.Sprintf("wavetank.%s.chunk.%d", digest, first)
}
func runSubject(digest string, n int) string { return fmt.Sprintf("wavetank.%s.run.%d", digest, n) }

// digestOf is that of the campaign of which a stream has the chunks.
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

// runMessage is what came of one.
type runMessage struct {
	Campaign string           `json:"campaign"`
	Worker   string           `json:"worker"`
	Record   *campaign.Record `json:"record"`
}

// facts are what a stream of chunks says of its campaign, for who has not read the job yet.
type facts struct {
	name, build, program string
	chunk                int // runs
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

// make makes what a campaign has on the server, or finds it: the job, the stream of records, and then that of chunks, by
// which workers see that it is there. It returns the facts that are there. What the server refuses a part of is not left there.
func (c *Conn) make(ctx context.Context, digest string, job []byte, f facts, ackWait time.Duration) (_ facts, err error) {
	var made []string
	defer func() {
		for _, name := range made {
			if refused(err) {
				_ = c.js.DeleteStream(ctx, name) // what it was refused for is told
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

// keepJob puts the job where machines find it, if it is not there or is not what it should be.
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

// stream makes a stream, or finds it.
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

// overlaps is the server's code for a stream whose subjects are another's.
const overlaps = 10065

// overlapError is about a stream that has subjects of a campaign.
type overlapError struct {
	subject, stream string
	error
}

func (e overlapError) Error() string {
	return fmt.Sprintf("the subjects %s are those of the stream %s, which is none of Wavetank's; take wavetank.> from its subjects (nats stream edit %s), or give another server or account", e.subject, e.stream, e.stream)
}

func (e overlapError) Unwrap() error { return e.error }

// replicated makes something with as many replicas as the server has machines for: one, if it is no cluster. Once asked
// for, it is waited for although ctx ends: the server's threads may take up a request that nobody waits for after a later
// one, and make anew what that has removed.
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

// remove takes away what a campaign has on the server.
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

// job reads a campaign's job, which must be what its digest says.
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

// wrongJobError is about a job that cannot be done.
type wrongJobError struct{ digest, how string }

func (e wrongJobError) Error() string {
	return fmt.Sprintf("the job of campaign %s %s, so that nobody works at it; start its coordinator again, which puts it right, or %s", e.digest, e.how, removal(e.digest))
}

// removal is how somebody removes what a campaign has on the server.
func removal(digest string) string {
	return fmt.Sprintf("remove what is left of it with nats stream rm: %s, %s and OBJ_%s", chunksStream(digest), runsStream(digest), jobBucket(digest))
}

// each gives publish's message for each of a list to the server, and waits until all are stored. One that waits there
// already is as good as stored.
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
