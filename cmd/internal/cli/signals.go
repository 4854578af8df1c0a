package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// ErrInterrupted is the cause of a context that a signal ended.
var ErrInterrupted = &Error{Code: ExitInterrupted, Text: "interrupted; nothing was written"}

// OneInterrupt is how long signals count as the first: timeout(1), for one, sends its signal to a program, and then
// to the group that it is in.
const OneInterrupt = time.Second

// Interrupts are the signals that ask a program to end: Ctrl-C, kill, and a terminal that is closed. Under nohup the last
// is none.
func Interrupts() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// cleanUps are those of every [Interruptible] that has not ended, so that none is cut short by another's exit.
var cleanUps struct {
	sync.Mutex
	open []*func()
}

// Interruptible returns a context that ends at the first of [Interrupts], with [ErrInterrupted] for its cause, but not by
// a signal that means another thing to the program. A second one ends the program at once, after cleanUp: one that comes
// later than [OneInterrupt].
func Interruptible(ctx context.Context, cleanUp func(), but ...os.Signal) (context.Context, func()) {
	cleanUps.Lock()
	cleanUps.open = append(cleanUps.open, &cleanUp)
	cleanUps.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, slices.DeleteFunc(Interrupts(), func(s os.Signal) bool { return slices.Contains(but, s) })...)
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
				cancel(ErrInterrupted)
			case time.Since(first) > OneInterrupt:
				cleanUps.Lock() // for good: another that heard the signal ends here
				Say(os.Stderr, "interrupted twice; ended at once")
				for _, cleanUp := range slices.Backward(cleanUps.open) {
					(*cleanUp)()
				}
				os.Exit(ExitInterrupted)
			}
		}
	}()
	return ctx, func() {
		if context.Cause(ctx) != ErrInterrupted { // or the second of two would kill a program that is about to end
			signal.Stop(signals)
		}
		close(done)
		cancel(nil)
		cleanUps.Lock()
		cleanUps.open = slices.DeleteFunc(cleanUps.open, func(c *func()) bool { return c == &cleanUp })
		cleanUps.Unlock()
	}
}

// Pause waits for so long, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
