package campaign

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/whatif"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// ServeOptions are options of a worker process.
type ServeOptions struct {
	// Run runs one plan; nil is [scenarios.Run].
	Run func(context.Context, *plans.Plan, scenarios.RunOptions) (*scenarios.Result, error)
}

// Serve makes this process a worker. It reads assignments from in and writes answers to out, both as JSON
// lines. It owns the process: it ignores SIGINT, SIGTERM and SIGHUP, which are for the parent. It ends the
// process when in ends, when ctx ends, and when the code under test goes out of bounds.
func Serve(ctx context.Context, in io.Reader, out io.Writer, opt ServeOptions) error {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	if out == os.Stdout {
		os.Stdout = os.Stderr // output of the code under test is no answer
	}
	s := &server{run: opt.Run, out: json.NewEncoder(out), work: make(chan numbered, 64)}
	if s.run == nil {
		s.run = scenarios.Run
	}
	s.out.SetEscapeHTML(false)
	lines := json.NewDecoder(bufio.NewReader(in))
	if err := lines.Decode(&s.hello); err == io.EOF {
		return nil
	} else if err != nil {
		return fmt.Errorf("the first message to a worker cannot be read: %w", err)
	}
	s.heap = newHeap(s.MemoryMax)
	go s.listen(lines)
	go s.watch(ctx)
	for a := range s.work {
		s.assigned(ctx, a)
	}
	return nil
}

// server is the state of a worker process.
type server struct {
	hello
	run  func(context.Context, *plans.Plan, scenarios.RunOptions) (*scenarios.Result, error)
	work chan numbered
	skip atomic.Int64 // assignments up to this one are dropped

	mu  sync.Mutex // guards out
	out *json.Encoder

	heap  *heap
	steps atomic.Int64 // completed steps of the run under way
	runs  atomic.Bool  // a run is under way; whoever resets it gives the answer
	begun atomic.Int64 // how many runs have begun
	trial bool         // the run is a trial
	n     int          // otherwise its number
	plan  *plans.Plan
}

// numbered is an assignment with its number, from 1, in the order of arrival.
type numbered struct {
	Assignment
	i int64
}

// listen receives assignments. The end of the input ends the process, whatever it does: nobody waits for its
// answer.
func (s *server) listen(lines *json.Decoder) {
	for i := int64(1); ; i++ {
		var a Assignment
		if lines.Decode(&a) != nil {
			s.leave()
		}
		if a.Skip {
			s.skip.Store(i)
		}
		s.work <- numbered{a, i}
	}
}

// leave removes what the process keeps on disk, and ends the process.
func (s *server) leave() {
	const attempts = 100 // the world under way may write into it meanwhile, and make it again
	for range attempts {
		if _, err := os.Lstat(s.Temp); s.Temp == "" || errors.Is(err, fs.ErrNotExist) {
			break
		}
		_ = os.RemoveAll(s.Temp)
	}
	_ = os.Remove(filepath.Dir(s.Temp)) // if this was the last process
	os.Exit(0)
}

// watch reports from time to time that the process lives. It checks the heap, the time of the run, and ctx.
func (s *server) watch(ctx context.Context) {
	look := time.NewTicker(heapEvery)
	alive := time.NewTicker(max(s.Stall/2, heapEvery))
	s.say(Answer{Alive: true})
	var clock stopwatch
	for {
		select {
		case now := <-look.C:
			if took := clock.tick(s.begun.Load(), now); s.runs.Load() && s.Total > 0 && took > s.Total {
				s.contain(Contained{What: Hung, Stack: tookTooLong})
			}
			if s.runs.Load() && s.heap.overInStep(s.steps.Load) {
				s.contain(Contained{What: Overgrew, Stack: s.heap.says()})
			}
		case <-alive.C:
			s.say(Answer{Alive: true})
		case <-ctx.Done():
			s.leave()
		}
	}
}

func (s *server) say(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.Encode(a) != nil { // nobody listens any more
		s.leave()
	}
}

func (s *server) assigned(ctx context.Context, a numbered) {
	left := func() bool { return a.i <= s.skip.Load() }
	switch {
	case left():
	case a.Trial != nil:
		s.try(ctx, a.Assignment)
	default:
		for n := a.First; n < a.First+a.Count && !left(); n++ {
			s.one(ctx, n, a.Steps)
		}
	}
	s.say(Answer{Done: true})
	if s.heap.grown() {
		os.Exit(0) // a new process has all the memory
	}
}

// one makes the n-th run.
func (s *server) one(ctx context.Context, n int, tell bool) {
	plan, err := s.Spec.Plan(n)
	if err != nil {
		s.fail(fmt.Errorf("run %d: %w", n, err))
	}
	s.n, s.plan, s.trial = n, plan, false
	s.say(Answer{Begin: true, N: n})
	res, c := s.bounded(ctx, scenarios.RunOptions{}, tell)
	if c != nil {
		s.end(*c)
	}
	r := RecordOf(n, plan, res)
	if s.Spec.Grid != nil {
		r.Measures = Measure(res)
	}
	s.say(Answer{Record: r})
}

// try makes a trial.
func (s *server) try(ctx context.Context, a Assignment) {
	plan, err := plans.Parse("trial", []byte(a.Trial.Plan))
	if err != nil {
		s.say(Answer{Outcome: &Outcome{Problem: err.Error()}})
		return
	}
	s.plan, s.trial = plan, true
	if a.Trial.Why != "" {
		cause := s.explain(ctx, a.Trial.Why)
		s.say(Answer{Outcome: &Outcome{Cause: cause}})
		return
	}
	res, c := s.bounded(ctx, scenarios.RunOptions{StopAt: a.Trial.StopAt}, a.Steps)
	if c != nil {
		s.end(*c)
	}
	s.say(Answer{Outcome: &Outcome{Result: res}})
}

// explain returns what the violation of an invariant by the plan depends on, or nil.
func (s *server) explain(ctx context.Context, invariant string) *why.Cause {
	s.begin()
	cause, err := whatif.Explain(ctx, s.plan, whatif.Options{Invariant: invariant, Quick: true})
	s.over()
	if ctx.Err() != nil {
		s.leave()
	}
	if err != nil { // the error is about a changed plan, which nobody asked about
		return nil
	}
	return cause
}

// bounded runs the plan. It returns its result, or how the code under test went out of bounds.
func (s *server) bounded(ctx context.Context, opt scenarios.RunOptions, tell bool) (*scenarios.Result, *Contained) {
	opt.Source, opt.Modified, opt.Drawn = s.plan.Name, true, s.Spec.Grid == nil
	opt.Trace = counter{s, tell}
	opt.Stall = s.Stall
	opt.OnStall = func(dump string) {
		if outlived(dump) {
			s.contain(Contained{What: Leaked, Stack: stackOfLeak(dump)})
		}
		s.contain(Contained{What: Hung, Stack: stackOfHang()})
	}
	s.begin()
	res, err := s.run(ctx, s.plan, opt)
	if errors.Is(err, sim.ErrNoRedisServer) { // somebody has ended it: the next run gets another
		s.steps.Store(0)
		res, err = s.run(ctx, s.plan, opt)
	}
	s.over()
	var machine *fs.PathError
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil:
		s.leave()
	case errors.As(err, &machine), errors.Is(err, sim.ErrNoRedisServer): // a full disk or too many open files, not errors of the world
		s.fail(err)
	case errors.Is(err, sim.ErrNotEnded):
		return nil, &Contained{What: Leaked, Stack: stackOfLeak(allStacks())}
	}
	return nil, &Contained{What: BrokeOff, Stack: stackOfError(err)}
}

// begin says that a run is under way.
func (s *server) begin() {
	s.steps.Store(0)
	s.heap.begin()
	s.begun.Add(1)
	s.runs.Store(true)
}

// over says that the run is over.
func (s *server) over() {
	if !s.runs.CompareAndSwap(true, false) {
		select {} // the process is about to end
	}
}

// contain ends the run under way as out of bounds.
func (s *server) contain(c Contained) {
	if s.runs.CompareAndSwap(true, false) {
		s.end(c)
	}
}

// end answers that the run was out of bounds, and ends the process, whose state cannot be relied upon.
func (s *server) end(c Contained) {
	c.Step = int(s.steps.Load())
	if s.trial {
		s.say(Answer{Outcome: &Outcome{Contained: &c}})
	} else {
		s.say(Answer{Record: containedRecord(s.n, s.plan, c)})
	}
	os.Exit(0)
}

// fail answers that the worker cannot go on, and ends the process.
func (s *server) fail(err error) {
	s.say(Answer{Problem: err.Error()})
	os.Exit(1)
}

// counter is a run's trace. It only counts lines, one for each step.
type counter struct {
	s    *server
	tell bool
}

func (c counter) Write(p []byte) (int, error) {
	if c.s.heap.over() {
		c.s.contain(Contained{What: Overgrew, Stack: c.s.heap.says()})
	}
	n := c.s.steps.Add(1)
	if c.tell {
		c.s.say(Answer{Step: int(n)})
	}
	return len(p), nil
}
