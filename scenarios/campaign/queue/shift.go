package queue

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// shift is a machine's work on one campaign.
type shift struct {
	*machine
	*offer
	in   chan campaign.Chunk
	want chan struct{}
	out  chan finished
	done int // number of runs

	over bool   // the campaign is over
	next *offer // the campaign to work on instead; nil is none
}

// finished is a chunk whose runs are done.
type finished struct {
	campaign.Chunk
	runs []campaign.Record
}

// join works on a campaign until it is over, or until it has no chunks and another has.
func (w *machine) join(ctx context.Context, at *offer) (next *offer, over bool, err error) {
	s := &shift{machine: w, offer: at, in: make(chan campaign.Chunk, 1), want: make(chan struct{}, 1), out: make(chan finished, 1024)}
	w.opt.Say("campaign %s at %s: joined", at.digest, w.conn.at)
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() {
		defer cancel()
		s.fetch(ctx)
	})
	helpers.Go(func() { s.publish(ctx) })
	err = at.job.Do(ctx, campaign.Options{Workers: w.opt.Workers, Command: w.opt.Command}, campaign.Chunks{
		In: s.in, Want: s.wanted, Done: s.finish, Tick: func() { w.hand.keep(time.Now()) },
	})
	cancel()
	helpers.Wait()
	w.hand.back(s.next.subject())
	if err != nil {
		return nil, false, endError{err}
	}
	how := "left"
	switch {
	case s.over:
		how = "over"
	case s.next != nil:
		how = "left for campaign " + s.next.digest
	}
	w.opt.Say("campaign %s: %s; %d runs were done here", at.digest, how, s.done)
	return s.next, s.over, nil
}

func (s *shift) wanted() {
	select {
	case s.want <- struct{}{}:
	default:
	}
}

func (s *shift) finish(c campaign.Chunk, runs []campaign.Record) {
	s.done += c.Count
	s.out <- finished{c, runs}
}

// fetch takes a chunk whenever one is wanted, until the campaign is over or is left for another.
func (s *shift) fetch(ctx context.Context) {
	looked := time.Now()
	for wanted := false; s.next == nil; {
		if !wanted {
			select {
			case <-ctx.Done():
				return
			case <-s.want:
				wanted = true
			}
		}
		c, err := s.chunk(ctx)
		switch {
		case isGone(err):
			s.over = true
			return
		case ctx.Err() != nil:
			return
		case err != nil:
			wait(ctx, againAfter)
			continue
		case c != nil:
			s.in <- *c // there is room: nobody else sends, and the last chunk was received before another was wanted
			wanted = false
		}
		if idle := c == nil && s.hand.empty(); idle || time.Since(looked) > s.opt.lookAgain {
			s.next, _ = s.instead(ctx, s.digest, !idle) // the next look may succeed
			looked = time.Now()
		}
	}
	s.finishUp(ctx)
}

// chunk returns the chunk that the machine came with, or the next that is not in hand; nil if there is none
// for now.
func (s *shift) chunk(ctx context.Context) (c *campaign.Chunk, err error) {
	if c, s.first = s.first, nil; c != nil {
		return c, nil
	}
	within, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	got, err := s.chunks.Fetch(1, jetstream.FetchContext(within))
	if err == nil {
		c, err = s.taken(s.offer, got)
	}
	if c == nil && err == nil {
		_, err = s.chunks.Info(ctx) // there is no chunk: does the campaign exist?
	}
	return c, err
}

// finishUp waits until no chunk is in hand except that of the next campaign.
func (s *shift) finishUp(ctx context.Context) {
	for ctx.Err() == nil && !s.over && !s.hand.hasOnly(s.next.subject()) {
		_, err := s.chunks.Info(ctx)
		s.over = isGone(err)
		wait(ctx, againAfter)
	}
}

// publish stores finished runs, and then acknowledges their chunk.
func (s *shift) publish(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-s.out:
			s.store(ctx, f)
		}
	}
}

func (s *shift) store(ctx context.Context, f finished) {
	for told := false; ctx.Err() == nil; {
		err := s.conn.each(ctx, len(f.runs), func(i int) (string, any) {
			return runSubject(s.digest, f.runs[i].N), runMessage{s.digest, s.name, &f.runs[i]}
		})
		if err == nil {
			_ = s.hand.done(ctx, chunkSubject(s.digest, f.First)) // the coordinator has the runs, and may have ended the campaign
			return
		}
		if !told && ctx.Err() == nil {
			told = true
			s.opt.Say("%s: what was done cannot be stored: %s; trying on", s.conn.at, reason(err))
		}
		wait(ctx, againAfter)
	}
}
