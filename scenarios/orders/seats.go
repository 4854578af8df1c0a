package orders

import (
	"context"
	"sync"
)

// seats make runs ahead, so that every runner is busy, and return them in order.
type seats struct {
	ctx     context.Context
	cancel  context.CancelFunc
	list    []order
	answers []chan answer
	next    chan int
	ahead   chan struct{} // has an element for each run that is begun or made, and not taken
	all     sync.WaitGroup
}

type answer struct {
	run *Run
	err error
}

// aheadMax is how many runs each runner may be ahead. Further ahead it would make runs that turn out to be
// unnecessary.
const aheadMax = 4

func (s *search) start(ctx context.Context, list []order) *seats {
	a := &seats{list: list, answers: make([]chan answer, len(list)), next: make(chan int), ahead: make(chan struct{}, aheadMax*len(s.o.Runners))}
	a.ctx, a.cancel = context.WithCancel(ctx)
	for i := range list {
		a.answers[i] = make(chan answer, 1)
	}
	a.all.Go(a.hand)
	for _, run := range s.o.Runners {
		a.all.Go(func() {
			for i := range a.next {
				r, err := run(a.ctx, a.list[i].list)
				a.answers[i] <- answer{r, err}
			}
		})
	}
	return a
}

// hand gives the runners one number after the other.
func (a *seats) hand() {
	defer close(a.next)
	for i := range a.list {
		select {
		case a.ahead <- struct{}{}:
		case <-a.ctx.Done():
			return
		}
		select {
		case a.next <- i:
		case <-a.ctx.Done():
			return
		}
	}
}

// take waits for the i-th run. Each is taken or skipped once, in order.
func (a *seats) take(i int) (*Run, error) {
	select {
	case got := <-a.answers[i]:
		<-a.ahead
		return got.run, got.err
	case <-a.ctx.Done():
		return nil, a.ctx.Err()
	}
}

func (a *seats) skip(i int) { _, _ = a.take(i) }

// stop waits for the runs under way.
func (a *seats) stop() {
	a.cancel()
	a.all.Wait()
}
