package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/store"
)

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
