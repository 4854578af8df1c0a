package queue

import (
	"context"
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// begin sets the campaign up, and retries as long as nobody answers. It returns an error if the server
// refuses.
func (c *Coordinator) begin(ctx context.Context) error {
	within, cancel := c.conn.while(ctx)
	defer cancel()
	for told := ""; ; {
		err := c.setUp(within)
		switch {
		case err == nil || ctx.Err() != nil:
			return nil // the caller has what there is
		case c.conn.gone() != nil:
			return c.conn.gone()
		case refused(err):
			return fmt.Errorf("%s: %s", c.conn.at, reason(err))
		}
		if why := reason(err); why != told {
			told = why
			c.Say("%s: %s; trying on", c.conn.at, why)
		}
		wait(within, againAfter)
	}
}

// setUp makes or finds what the campaign has on the server.
func (c *Coordinator) setUp(ctx context.Context) error {
	f, err := c.conn.make(ctx, c.digest, c.text, facts{c.job.Spec.Name, c.job.Build, c.job.Program, c.chunk}, c.AckWait)
	if err == nil && f.chunk > 0 {
		c.chunk = f.chunk // the size that the campaign began with
	}
	return err
}

// ask queues the chunks that have a run that is not done.
func (c *Coordinator) ask(ctx context.Context) error {
	first, _ := c.job.Runs()
	var chunks []campaign.Chunk
	for at := 0; at < len(c.seen); at += c.chunk {
		size := min(c.chunk, len(c.seen)-at)
		for _, seen := range c.seen[at : at+size] {
			if !seen {
				chunks = append(chunks, campaign.Chunk{First: first + at, Count: size})
				break
			}
		}
	}
	return c.conn.each(ctx, len(chunks), func(i int) (string, any) {
		return chunkSubject(c.digest, chunks[i].First), chunkMessage{c.digest, chunks[i]}
	})
}
