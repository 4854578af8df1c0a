package campaign

import (
	"context"
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// crew is the workers of this machine, and their work. Its state belongs to one goroutine. Workers, and an
// examination that needs trials, communicate with it by channels.
type crew struct {
	ctx        context.Context
	temp       string // the folder for the workers' temporary files
	removeTemp func()
	spec       Spec
	opt        Options
	orders     Orders
	launch     launch
	err        error         // why it cannot go on
	sink       func(*Record) // takes a finished run

	todo     todo
	seats    []*seat
	events   chan event
	calls    chan call
	call     *call // a trial that no worker has yet
	examiner *seat // does trials, and nothing else meanwhile
	quit     chan struct{}

	looked time.Time     // when the workers were last checked
	ending bool          // no more runs are handed out
	grace  time.Duration // the time that runs under way have then
	leave  time.Time     // when that time is over
}

func newCrew(ctx context.Context, spec *Spec, opt Options) crew {
	s := crew{
		ctx: ctx, spec: *spec, opt: opt,
		orders: Orders{Spec: *spec, Stall: opt.RunTimeout, Total: runTimeouts * opt.RunTimeout, MemoryMax: opt.MemoryMax}, grace: runGrace,
		todo: newTodo(spec.span()), events: make(chan event, 64), calls: make(chan call), quit: make(chan struct{}),
	}
	for range opt.Workers {
		s.seats = append(s.seats, &seat{run: -1})
	}
	return s
}

// equip makes the folder for the workers' temporary files.
func (s *crew) equip() (err error) {
	if s.temp, s.removeTemp, err = tempdir.New(tempdir.Memory(), tempdir.Campaign); err != nil {
		return fmt.Errorf("no temporary folder: %w; set TMPDIR to one that can be written", strictyaml.FileReason(err))
	}
	s.launch = processes(s.opt.Command, s.temp)
	return nil
}

// dismiss ends the workers.
func (s *crew) dismiss() {
	for _, t := range s.seats {
		if t.worker != nil {
			t.worker.End()
		}
	}
	close(s.quit)
	if s.temp != "" {
		s.removeTemp()
	}
}

// plan returns the plan of the n-th run, which a worker has run before.
func (s *crew) plan(n int) *plans.Plan {
	p, err := s.spec.Plan(n)
	if err != nil {
		s.fail(err)
		return plans.Defaults()
	}
	return p
}

func (s *crew) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}
