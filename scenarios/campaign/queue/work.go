package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// WorkOptions are how a machine works.
type WorkOptions struct {
	Workers int                              // processes at once; 0 is one for each processor
	Command []string                         // starts a worker process, as of [campaign.Options]
	Once    bool                             // leave when a campaign is over; else wait for the next
	Say     func(format string, args ...any) // is told what who waits should know; nil is nobody

	lookAgain time.Duration // how often who has enough to do looks for chunks of older campaigns; 0 is 10 s
}

// lookEvery is how often one who waits looks whether there is a campaign.
const lookEvery = 500 * time.Millisecond

// Work does runs of the campaigns that are on the server until ctx ends, which is no error. What is in hand then is given
// back. If all campaigns that are there are of other builds, it is an error.
//
// It takes chunks of the oldest campaign that has some. If that one has none for a while, nor anything in hand here, it takes
// those of another. If no campaign has any, it waits in the one where it is.
func Work(ctx context.Context, conn *Conn, opt WorkOptions) error {
	if opt.Say == nil {
		opt.Say = func(string, ...any) {}
	}
	if opt.lookAgain <= 0 {
		opt.lookAgain = 10 * time.Second
	}
	program, err := campaign.Program(opt.Command)
	if err != nil {
		return err
	}
	w := &machine{conn: conn, opt: opt, program: program, name: nameOf(), jobs: map[string]*campaign.Job{}, odd: map[string]string{}}
	within, cancel := conn.while(ctx)
	defer cancel()
	err = w.work(within)
	w.hand.back("")
	if ctx.Err() != nil || err == errOver {
		return nil
	}
	return cmp.Or(conn.gone(), err)
}

// errOver ends the work of who leaves when a campaign is over.
var errOver = errors.New("the campaign is over")

// work works until ctx ends.
func (w *machine) work(ctx context.Context) error {
	var at *offer
	for told := ""; ctx.Err() == nil; {
		var err error
		if at == nil {
			at, err = w.find(ctx)
		}
		if at != nil {
			var over bool
			if at, over, err = w.join(ctx, at); over && w.opt.Once {
				return errOver
			}
			if told = ""; at != nil {
				continue
			}
		}
		says := fmt.Sprintf("waiting for a campaign at %s", w.conn.at)
		var end endError
		switch {
		case errors.As(err, &end):
			return end.error
		case err != nil && !isGone(err): // what is gone is over
			says = fmt.Sprintf("%s: %s; trying on", w.conn.at, reason(err))
		}
		if says != told && ctx.Err() == nil {
			told = says
			w.opt.Say("%s", says)
		}
		wait(ctx, lookEvery)
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
