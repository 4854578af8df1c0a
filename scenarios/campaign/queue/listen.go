package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// How records are read: how many at once, and how long to wait for one.
const (
	readAtOnce = 256
	readWithin = 2 * time.Second
)

// reading is how far the stream of records was read.
type reading struct {
	of    time.Time // when the stream was created; a new stream is read from its beginning
	next  uint64    // sequence in the stream, from 1
	asked bool      // missing chunks were asked for again, once nothing was left to read
	idle  tail
}

// tail is the end of a queue from which nobody takes anything.
type tail struct {
	chunks uint64 // how many chunks are there that neither wait nor are in hand
	times  int    // how many times in succession that was the case
}

// listen reads the records of the campaign, from the first that was ever stored, until ctx ends. It survives
// losses of the connection and of the streams.
func (c *Coordinator) listen(ctx context.Context) {
	var r reading
	within, cancel := c.conn.while(ctx)
	defer cancel()
	for told := ""; ctx.Err() == nil; {
		err := c.read(within, &r)
		if ctx.Err() != nil {
			return
		}
		if isGone(err) {
			if err = c.setUp(within); err == nil {
				r.asked, r.idle = false, tail{}
				continue
			}
		}
		if err := c.conn.gone(); err != nil {
			c.hand(ctx, campaign.Arrival{Err: err})
			return
		}
		if why := reason(err); why != told {
			told = why
			c.Say("%s: %s; trying on", c.conn.at, why)
		}
		wait(within, againAfter)
	}
}

// read reads records until something goes wrong.
func (c *Coordinator) read(ctx context.Context, r *reading) error {
	runs, err := c.conn.js.Stream(ctx, runsStream(c.digest))
	if err != nil {
		return err
	}
	if created := runs.CachedInfo().Created; !created.Equal(r.of) {
		r.of, r.next = created, 1
	}
	consumer, err := runs.CreateConsumer(ctx, jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next, InactiveThreshold: time.Minute, MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return err
	}
	for seen, nothing := uint64(0), false; ; {
		if !r.asked {
			info, err := consumer.Info(ctx)
			if err != nil {
				return err
			}
			if info.NumPending == 0 || nothing { // the sequences do not show it: the server can lose records and keep the sequences
				if err := c.ask(ctx); err != nil {
					return err
				}
				r.asked = true
			}
		}
		before := seen
		if seen, err = c.some(ctx, consumer, r, seen); err != nil {
			return err
		}
		if nothing = seen == before; nothing && r.asked {
			if _, err := consumer.Info(ctx); err != nil {
				return err
			}
			if err := c.setUp(ctx); err != nil { // a part of it may be gone
				return err
			}
			if err := c.lookForLost(ctx, &r.idle); err != nil {
				return err
			}
		}
	}
}

// some reads the next records, and waits a while for them. seen is the consumer's number of the last record
// that was read.
func (c *Coordinator) some(ctx context.Context, consumer jetstream.Consumer, r *reading, seen uint64) (uint64, error) {
	within, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	got, err := consumer.Fetch(readAtOnce, jetstream.FetchContext(within))
	if err != nil {
		return seen, err
	}
	for msg := range got.Messages() {
		meta, err := msg.Metadata()
		if err != nil {
			return seen, err
		}
		if meta.Sequence.Consumer != seen+1 { // one was lost on the way: read again from there
			return seen, errLost
		}
		seen, r.next = meta.Sequence.Consumer, meta.Sequence.Stream+1
		c.heard(ctx, msg)
	}
	if err := got.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return seen, err
	}
	return seen, ctx.Err()
}

// heard handles one message.
func (c *Coordinator) heard(ctx context.Context, msg jetstream.Msg) {
	var m runMessage
	first, end := c.job.Runs()
	switch err := json.Unmarshal(msg.Data(), &m); {
	case err != nil || m.Record == nil || m.Record.N < first || m.Record.N >= end || msg.Subject() != runSubject(c.digest, m.Record.N):
		c.Say("%s holds what is no record of this campaign, at %s; it is left out", c.conn.at, msg.Subject())
	case m.Campaign != c.digest:
		c.Say("%s has sent a record with the digest of another campaign, %.40q; it is left out", m.Worker, m.Campaign)
	default:
		c.seen[m.Record.N-first] = true
		c.hand(ctx, campaign.Arrival{Record: m.Record, From: m.Worker})
	}
}

// hand passes an arrival to the campaign.
func (c *Coordinator) hand(ctx context.Context, a campaign.Arrival) {
	select {
	case c.out <- a:
	case <-ctx.Done():
	}
}

// lookForLost hands over chunks that were delivered as often as allowed and never done. It does so at the
// end, when no chunk waits and none is in hand.
func (c *Coordinator) lookForLost(ctx context.Context, t *tail) error {
	chunks, err := c.conn.js.Stream(ctx, chunksStream(c.digest))
	if err != nil {
		return err
	}
	work, err := chunks.Consumer(ctx, consumerName)
	if err != nil {
		return err
	}
	left, info := chunks.CachedInfo().State.Msgs, work.CachedInfo()
	if left == 0 {
		return c.askAgain(ctx, t)
	}
	if info.NumPending > 0 || info.NumAckPending > 0 {
		*t = tail{}
		return nil
	}
	if t.times++; t.chunks != left || t.times < 2 {
		t.chunks = left
		return nil
	}
	*t = tail{}
	all, err := chunks.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return err
	}
	begin, _ := c.job.Runs()
	for subject := range all.State.Subjects {
		first, err := strconv.Atoi(subject[strings.LastIndexByte(subject, '.')+1:])
		if err != nil {
			continue
		}
		lost := campaign.Chunk{First: first, Count: min(c.chunk, begin+len(c.seen)-first)}
		c.Say("the chunk of runs %d to %d was begun %d times and never done; it is done here", lost.First, lost.First+lost.Count-1, deliveriesMax)
		c.hand(ctx, campaign.Arrival{Lost: &lost})
		if err := chunks.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
		for n := lost.First; n < lost.First+lost.Count; n++ {
			c.seen[n-begin] = true
		}
	}
	return nil
}

// askAgain asks for missing chunks again if the queue is empty: the server has lost them.
func (c *Coordinator) askAgain(ctx context.Context, t *tail) error {
	for _, seen := range c.seen {
		if seen {
			continue
		}
		if t.times++; t.times < 2 { // what is missing may be on its way
			return nil
		}
		*t = tail{}
		return c.ask(ctx)
	}
	return nil
}

var errLost = errors.New("a record was lost on the way, and is read again")
