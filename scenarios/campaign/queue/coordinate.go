package queue

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// ChunkRuns is the default number of runs in a chunk: some seconds of a core.
const ChunkRuns = 16

// Coordinator has the runs of campaigns done by machines that join. It is a [campaign.Elsewhere] for one
// campaign after the other, and is connected only while one is under way.
type Coordinator struct {
	Server
	Chunk int                              // runs in a chunk; 0 is ChunkRuns. Chunks on the server keep their size
	Say   func(format string, args ...any) // is called with messages for the user who waits; nil is not called

	AckWait time.Duration // after which a chunk that is not reported is redelivered; 0 is 30 s

	conn   *Conn
	chunk  int // runs in a chunk of this campaign
	job    campaign.Job
	text   []byte // the job
	digest string
	seen   []bool // the runs that are done, by their positions in the job
	out    chan campaign.Arrival
	stop   context.CancelFunc
	over   sync.WaitGroup
}

func (c *Coordinator) setDefaults() {
	if c.Chunk <= 0 {
		c.Chunk = ChunkRuns
	}
	if c.AckWait <= 0 {
		c.AckWait = ackWait
	}
	if c.Say == nil {
		c.Say = func(string, ...any) {}
	}
}

// Begin makes the campaign on the server, or finds it there, and asks for what is not done.
func (c *Coordinator) Begin(ctx context.Context, job campaign.Job, done func(n int) bool) (<-chan campaign.Arrival, error) {
	c.setDefaults()
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	c.job, c.text, c.digest, c.chunk = job, text, job.Digest(), c.Chunk
	first, end := job.Runs()
	c.seen = make([]bool, end-first)
	for i := range c.seen {
		c.seen[i] = done(first + i)
	}
	if c.conn, err = c.Dial(ctx, "wavetank coordinator"); err != nil {
		return nil, err
	}
	if err := c.begin(ctx); err != nil {
		c.conn.Close()
		return nil, err
	}
	left := 0
	for _, s := range c.seen {
		if !s {
			left++
		}
	}
	c.Say("campaign %s at %s: %d runs in chunks of %d; join with `wavetank work --queue %s`", c.digest, c.conn.at, left, c.chunk, c.conn.at)
	c.out = make(chan campaign.Arrival, 256)
	ctx, c.stop = context.WithCancel(ctx)
	c.over.Go(func() { c.listen(ctx) })
	return c.out, nil
}

// End closes the connection. If over is true, it removes the campaign from the server.
func (c *Coordinator) End(over bool) {
	c.stop()
	c.over.Wait()
	defer c.conn.Close()
	if over {
		c.remove(context.Background())
	}
}

// Over removes the campaign from the server if a coordinator died between the campaign's result and
// [Coordinator.End].
func (c *Coordinator) Over(ctx context.Context, job campaign.Job) {
	c.setDefaults()
	c.digest = job.Digest()
	conn, err := c.Dial(ctx, "wavetank coordinator")
	if err != nil {
		c.Say("campaign %s is over; whether streams of it are left cannot be seen: %s", c.digest, err)
		return
	}
	c.conn = conn
	defer c.conn.Close()
	c.remove(ctx)
}

// How long to try to remove a campaign, in all and each time.
const (
	removeWithin = 20 * time.Second
	onceWithin   = 5 * time.Second
)

// remove removes the campaign from the server, which may be starting again just then.
func (c *Coordinator) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	ctx, stop := c.conn.while(ctx)
	defer stop()
	for {
		once, cancel := context.WithTimeout(ctx, onceWithin)
		err := c.conn.remove(once, c.digest)
		cancel()
		if err == nil {
			return
		}
		if refused(err) || !wait(ctx, againAfter) {
			c.Say("campaign %s is over, and could not be deleted at %s: %s; %s", c.digest, c.conn.at, reason(err), removal(c.digest))
			return
		}
	}
}
