package campaign

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Chunks are the runs that this machine does for a campaign on another machine.
type Chunks struct {
	In   <-chan Chunk                 // chunks to do; none is received while the workers have enough
	Want func()                       // is called when the workers will soon run out of work
	Done func(c Chunk, runs []Record) // is called when a chunk is done, with its runs in order
	Tick func()                       // is called about five times a second while the workers are well
}

// Program is a hash of the executable of a worker's command, which identifies the build.
func Program(command []string) (string, error) {
	if len(command) == 0 {
		return "", errors.New("campaign: the command that starts a worker is empty; give one")
	}
	program, err := ProgramOf(command[0])
	if err != nil {
		return "", fmt.Errorf("a worker cannot be started (%s): %w", command[0], plainExec(err))
	}
	return program, nil
}

// Do does chunks of the job in worker processes, until ctx ends. Runs under way at that time count as never
// begun. Do keeps nothing.
func (j *Job) Do(ctx context.Context, opt Options, chunks Chunks) error {
	opt = opt.withDefaults()
	opt.RunTimeout, opt.MemoryMax = j.Timeout, j.MemoryMax
	if len(opt.Command) == 0 {
		return errors.New("campaign: Options.Command is empty; give the command that starts a worker")
	}
	c := newCrew(ctx, &j.Spec, opt)
	if err := c.equip(); err != nil {
		return err
	}
	defer c.dismiss()
	b := &bench{crew: &c, chunks: chunks, of: map[int]*batch{}}
	c.sink, c.todo.next = b.record, c.todo.end
	return b.work(ctx)
}

// bench is a crew that works on chunks.
type bench struct {
	*crew
	chunks Chunks
	of     map[int]*batch // by the numbers of the runs that are not done
	asked  bool           // it has asked for a chunk
}

// batch is a chunk under way.
type batch struct {
	Chunk
	runs []Record
	left int
}

func (b *bench) work(ctx context.Context) error {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	b.looked = time.Now()
	for b.err == nil {
		b.handOut()
		var in <-chan Chunk
		if len(b.todo.again) == 0 {
			in = b.chunks.In
			if !b.asked {
				b.asked = true
				b.chunks.Want()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case c := <-in:
			b.take(c)
		case e := <-b.events:
			b.heard(e)
		case now := <-tick.C:
			b.listenFor(now)
			b.chunks.Tick()
		}
	}
	return b.err
}

// take begins a chunk, unless it is under way already.
func (b *bench) take(c Chunk) {
	b.asked = false
	in := &batch{Chunk: c, runs: make([]Record, c.Count), left: c.Count}
	for n := c.First; n < c.First+c.Count; n++ {
		if !b.todo.has(n) || b.of[n] != nil {
			return
		}
	}
	for n := c.First; n < c.First+c.Count; n++ {
		b.of[n] = in
		b.todo.done.remove(n) // it may have been done before, and its answer lost
		b.todo.back(n)
	}
}

func (b *bench) record(r *Record) {
	in := b.of[r.N]
	if in == nil {
		return
	}
	delete(b.of, r.N)
	b.todo.done.add(r.N)
	in.runs[r.N-in.First] = *r
	if in.left--; in.left == 0 {
		b.chunks.Done(in.Chunk, in.runs)
	}
}
