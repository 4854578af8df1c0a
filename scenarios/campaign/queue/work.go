package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// WorkOptions are how a machine works.
type WorkOptions struct {
	Workers int                              // processes at once; 0 is one for each processor
	Command []string                         // starts a worker process, as of [campaign.Options]
	Once    bool                             // leave when the first campaign is over; else wait for the next
	Say     func(format string, args ...any) // is told what who waits should know; nil is nobody
}

// lookEvery is how often one who waits looks whether there is a campaign.
const lookEvery = 500 * time.Millisecond

// Work does runs of the campaigns that are on the server until ctx ends, which is no error. What is in hand then is given
// back. If all campaigns that are there are of other builds, it is an error.
func Work(ctx context.Context, conn *Conn, opt WorkOptions) error {
	if opt.Say == nil {
		opt.Say = func(string, ...any) {}
	}
	if len(opt.Command) == 0 {
		return errors.New("queue: WorkOptions.Command is empty; give the command that starts a worker")
	}
	program, err := campaign.Program(opt.Command[0])
	if err != nil {
		return err
	}
	w := &machine{conn: conn, opt: opt, program: program, name: nameOf()}
	for told := ""; ctx.Err() == nil; {
		digest, err := w.find(ctx)
		if err == nil && digest != "" {
			if err = w.join(ctx, digest); err == nil && opt.Once {
				return nil
			}
			if err == nil {
				told = ""
			}
		}
		says := fmt.Sprintf("waiting for a campaign at %s", conn.at)
		var end endError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &end):
			return end.error
		case err != nil && !isGone(err): // what is gone is over
			says = fmt.Sprintf("%s: %s; trying on", conn.at, reason(err))
		}
		if says != told {
			told = says
			opt.Say("%s", says)
		}
		select {
		case err := <-conn.gone:
			return err
		default:
			wait(ctx, lookEvery)
		}
	}
	return nil
}

// nameOf names a machine and a process of it.
func nameOf() string {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// endError is one that trying on does not help against.
type endError struct{ error }

// machine is one that works.
type machine struct {
	conn          *Conn
	opt           WorkOptions
	program, name string
}

// find finds the oldest campaign that is there for this build, or none.
func (w *machine) find(ctx context.Context) (digest string, err error) {
	list := w.conn.js.ListStreams(ctx, jetstream.WithStreamListSubject(anyChunk))
	var mine, others []*jetstream.StreamInfo
	for s := range list.Info() {
		if _, ok := digestOf(s.Config.Name); !ok {
			continue
		}
		if f := factsOf(s.Config.Metadata); f.program == w.program && f.build == buildname.Of() {
			mine = append(mine, s)
		} else {
			others = append(others, s)
		}
	}
	older := func(a, b *jetstream.StreamInfo) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Config.Name, b.Config.Name))
	}
	switch {
	case list.Err() != nil && !errors.Is(list.Err(), jetstream.ErrEndOfData):
		return "", list.Err()
	case len(mine) > 0:
		digest, _ = digestOf(slices.MinFunc(mine, older).Config.Name)
	case len(others) > 0:
		s := slices.MinFunc(others, older)
		f := factsOf(s.Config.Metadata)
		digest, _ = digestOf(s.Config.Name)
		return "", endError{fmt.Errorf("campaign %s at %s is of another build (%s, program %s) than this one (%s, program %s); work with the build that began it", digest, w.conn.at, f.build, f.program, buildname.Of(), w.program)}
	}
	return digest, nil
}

// join works at a campaign until it is over.
func (w *machine) join(ctx context.Context, digest string) error {
	job, err := w.conn.job(ctx, digest)
	if err != nil {
		return err
	}
	chunks, err := w.conn.js.Consumer(ctx, chunksStream(digest), consumerName)
	if err != nil {
		return err
	}
	s := &shift{
		machine: w, digest: digest, chunks: chunks,
		hand: hand{held: map[int]jetstream.Msg{}, every: chunks.CachedInfo().Config.AckWait / 3},
		in:   make(chan campaign.Chunk, 1), want: make(chan struct{}, 1), out: make(chan finished, 1024),
	}
	w.opt.Say("campaign %s at %s: joined", digest, w.conn.at)
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() {
		defer cancel()
		s.fetch(ctx)
	})
	helpers.Go(func() { s.publish(ctx) })
	err = job.Do(ctx, campaign.Options{Workers: w.opt.Workers, Command: w.opt.Command}, campaign.Chunks{
		In: s.in, Want: s.wanted, Done: s.finish, Tick: func() { s.hand.keep(time.Now()) },
	})
	cancel()
	helpers.Wait()
	s.hand.back()
	if err != nil {
		return endError{err}
	}
	w.opt.Say("campaign %s: %s; %d runs were done here", digest, map[bool]string{true: "over", false: "left"}[s.over.Load()], s.done.Load())
	return nil
}

// shift is a machine's time at one campaign.
type shift struct {
	*machine
	digest string
	chunks jetstream.Consumer
	hand   hand
	in     chan campaign.Chunk
	want   chan struct{}
	out    chan finished
	done   atomic.Int64 // runs
	over   atomic.Bool
}

func (s *shift) wanted() {
	select {
	case s.want <- struct{}{}:
	default:
	}
}

func (s *shift) finish(c campaign.Chunk, runs []campaign.Record) { s.out <- finished{c, runs} }

// fetch takes a chunk each time that one is wanted, until the campaign is over.
func (s *shift) fetch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.want:
		}
		for {
			c, err := s.next(ctx)
			if ctx.Err() != nil {
				return
			}
			if isGone(err) {
				s.over.Store(true)
				return
			}
			if s.conn.nc.IsClosed() {
				return
			}
			if err != nil {
				wait(ctx, againAfter)
			}
			if c != nil {
				s.in <- *c // there is room: nobody else sends, and what was wanted before was taken
				break
			}
		}
	}
}

// next is a chunk that was not in hand, or nil if none is there for now.
func (s *shift) next(ctx context.Context) (*campaign.Chunk, error) {
	within, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	got, err := s.chunks.Fetch(1, jetstream.FetchContext(within))
	if err != nil {
		return nil, err
	}
	for msg := range got.Messages() {
		var m chunkMessage
		if json.Unmarshal(msg.Data(), &m) != nil || m.Campaign != s.digest || m.Count < 1 || msg.Subject() != chunkSubject(s.digest, m.First) {
			s.opt.Say("%s holds what is no chunk of campaign %s, at %s; it is left out", s.conn.at, s.digest, msg.Subject())
			_ = msg.Term()
			continue
		}
		if s.hand.take(m.First, msg) {
			return &m.Chunk, nil
		}
		return nil, nil
	}
	if err := got.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	_, err = s.chunks.Info(ctx) // nothing is there: is the campaign?
	return nil, err
}

// publish stores what is done, and then acknowledges the chunk.
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
			s.done.Add(int64(f.Count))
			_ = s.hand.done(ctx, f.First) // the coordinator, which has the runs, may have ended the campaign
			return
		}
		if !told && ctx.Err() == nil {
			told = true
			s.opt.Say("%s: what was done cannot be stored: %s; trying on", s.conn.at, reason(err))
		}
		wait(ctx, againAfter)
	}
}
