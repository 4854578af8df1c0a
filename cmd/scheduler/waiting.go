package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// awaitEvery is how often it is looked what has become of jobs, or of a run.
const awaitEvery = 200 * time.Millisecond

// vigil waits for what schedulers do, and says on stderr what there is to say meanwhile.
type vigil struct {
	client *redis.Client
	show   *cli.Progress
	stderr io.Writer
	still  patience
}

func (v *vigil) say(format string, args ...any) {
	v.show.Done()
	cli.Say(v.stderr, format, args...)
}

// until looks until it is over, or until timeout is, if it is not 0: then late says so, and how far it is. A Redis that
// does not answer is asked again; an error of look that has an exit code is the end, as is [cli.ErrInterrupted].
func (v *vigil) until(ctx context.Context, timeout time.Duration, look func() (over bool, err error), far func() string) (late string, _ error) {
	deadline := make(<-chan time.Time)
	if timeout > 0 {
		deadline = time.After(timeout)
	}
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for away := false; ; { // as has been said
		over, err := look()
		var final *cli.Error
		lost := ""
		switch {
		case over:
			return "", nil
		case ctx.Err() != nil:
			return "", cli.ErrInterrupted
		case errors.As(err, &final):
			return "", err
		case err != nil:
			lost = fmt.Sprintf("Redis does not answer: %v", servers.NetReason(err))
			if !away {
				v.say("%s; asking again", lost)
			}
			lost = "; " + lost
		case away:
			v.say("Redis answers again")
		}
		away = err != nil
		v.show.Show("%s%s", far(), lost)
		select {
		case <-ctx.Done():
			return "", cli.ErrInterrupted
		case <-deadline:
			return fmt.Sprintf("--timeout, %v, came first: %s%s", timeout, far(), lost), nil
		case <-tick.C:
		}
	}
}

// wonder says what a job waits for, once nothing has changed for some time; now is how things are.
func (v *vigil) wonder(ctx context.Context, now, what, id string) {
	if !v.still.over(now) {
		return
	}
	if why := waiting(ctx, v.client, id); why != "" {
		v.say("%s: %s", what, why)
	}
}

// patience says what is waited for once nothing has changed for some time. It counts looks, of which there is one
// each awaitEvery.
type patience struct {
	seen  string
	looks int
}

// patienceLooks are 5 seconds.
const patienceLooks = 25

// over says whether now, which is how things are, has been so for some time; it says so once.
func (p *patience) over(now string) bool {
	if now != p.seen {
		p.seen, p.looks = now, 0
	}
	p.looks++
	return p.looks == patienceLooks
}

// waiting says what a job waits for, as far as Redis knows. A job that runs may take its time.
func waiting(ctx context.Context, client *redis.Client, id string) string {
	ctx, cancel := context.WithTimeout(ctx, servers.AnswerWithin)
	defer cancel()
	state, err := client.HGet(ctx, store.JobKey(id), "state").Result()
	if err != nil {
		return fmt.Sprintf("%s has no record yet; is there a scheduler?", id)
	}
	if job.State(state) == job.Running {
		return ""
	}
	if job.State(state) == job.Pending && kernelFails(ctx, client) {
		return fmt.Sprintf("%s is PENDING, and the schedulers cannot ask their safety kernel; /healthz of a scheduler says why, and so does its log", id)
	}
	return fmt.Sprintf("%s is %s. %s", id, state, waitsFor(ending{Job: id, State: job.State(state)}))
}

// kernelFails says whether the schedulers count failures of their safety kernel.
func kernelFails(ctx context.Context, client *redis.Client) bool {
	n, err := client.Get(ctx, safety.SafetyPrefix+":failures").Int()
	return err == nil && n > 0
}
