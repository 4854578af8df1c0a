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

// WorkOptions are options of a machine.
type WorkOptions struct {
	Workers int                              // how many processes run at once; 0 is one for each processor
	Command []string                         // the command of a worker process, as in [campaign.Options]
	Once    bool                             // return when a campaign is over, instead of waiting for the next
	Say     func(format string, args ...any) // is called with messages for the user who waits; nil is not called

	lookAgain time.Duration // how often a machine with enough work looks for chunks of older campaigns; 0 is 10 s
}

// lookEvery is how often a waiting machine looks for a campaign.
const lookEvery = 500 * time.Millisecond

// Work makes runs of the campaigns on the server until ctx ends, which is no error. It gives back what is in
// hand then. If all present campaigns are of other builds, it returns an error.
//
// It takes chunks of the oldest campaign that has some. If that campaign has none for a while, and none is in
// hand here, it takes chunks of another. If no campaign has any, it waits in the present one.
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

// errOver ends the work of a machine that leaves when a campaign is over.
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
		case err != nil && !isGone(err): // a campaign that is gone is over
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

// nameOf names a machine and a process on it.
func nameOf() string {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}
