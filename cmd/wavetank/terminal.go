package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/wavetank-sim/wavetank/scenarios"
)

var errInterrupted = &exitError{code: exitInterrupted, text: "interrupted; nothing was written"}

// oneInterrupt is how long signals count as the first: timeout(1), for one, sends its signal to a program, and then
// to the group that it is in.
const oneInterrupt = time.Second

// interruptible returns a context that ends at the first SIGINT or SIGTERM, with errInterrupted
// for its cause. A second one ends the program at once, after cleanUp: one that comes later than oneInterrupt.
func interruptible(ctx context.Context, cleanUp func()) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case <-signals:
			case <-done:
				return
			}
			switch {
			case first.IsZero():
				first = time.Now()
				cancel(errInterrupted)
			case time.Since(first) > oneInterrupt:
				fmt.Fprintln(os.Stderr, "wavetank: interrupted twice; ended at once")
				cleanUp()
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() {
		if context.Cause(ctx) != errInterrupted { // or the second of two would kill a program that is about to end
			signal.Stop(signals)
		}
		close(done)
		cancel(nil)
	}
}

func isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colored says whether w takes colours.
func colored(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// progress is one line on a terminal that is written again and again. Nil shows nothing.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	shown bool
}

func newProgress(stderr io.Writer, quiet bool) *progress {
	if quiet || !isTerminal(stderr) {
		return nil
	}
	return &progress{w: stderr}
}

func (p *progress) show(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	fmt.Fprintf(p.w, "\r\033[K"+format, args...)
}

func (p *progress) done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
		p.shown = false
	}
}

// ofRun is what a run reports its progress to.
func (p *progress) ofRun() func(scenarios.Progress) {
	if p == nil {
		return nil
	}
	return func(now scenarios.Progress) {
		p.show("%d steps, %s of virtual time, %d of %d jobs settled", now.Steps, now.Virtual.Round(time.Second), now.Settled, now.Jobs)
	}
}
