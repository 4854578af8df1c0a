package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/worker"
)

const (
	outputsFor     = 30 * 24 * time.Hour // as long as a dead letter
	redactedSuffix = ":redacted"         // of the key of an output's redacted copy
	redactedText   = "[redacted]"
)

// outputKeeper is where a worker leaves what its jobs put out. Nil keeps nothing.
type outputKeeper struct {
	redis  *redis.Client
	text   string   // what each job puts out; "" is its payload
	redact []string // what the redacted copy is without; nothing makes no copy
}

// of is what a job puts out; "" is nothing.
func (o *outputKeeper) of(d job.Dispatch) string {
	if o.text != "" {
		return o.text
	}
	return string(d.Payload)
}

// keep stores what an execution put out, if it has succeeded.
func (o *outputKeeper) keep(ctx context.Context, t *worker.Task, out worker.Outcome) (key string, err error) {
	output := o.of(t.Dispatch)
	if output == "" || out.Status != job.StatusSucceeded {
		return "", nil
	}
	return o.put(ctx, t.Dispatch, t.Seq, output)
}

// put stores a job's output, and next to it the redacted copy. Each dispatch has a key of its own, as what has been
// scanned must not change: it has its epoch, or its sequence in the stream where there are no epochs.
func (o *outputKeeper) put(ctx context.Context, d job.Dispatch, seq uint64, output string) (key string, err error) {
	key = fmt.Sprintf("res:%s:%d", d.JobID, d.Epoch)
	if d.Epoch == 0 {
		key = fmt.Sprintf("res:%s:seq-%d", d.JobID, seq)
	}
	_, err = o.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, key, output, outputsFor)
		if len(o.redact) > 0 {
			for _, secret := range o.redact {
				output = strings.ReplaceAll(output, secret, redactedText)
			}
			p.Set(ctx, key+redactedSuffix, output, outputsFor)
		}
		return nil
	})
	return key, err
}

func (o *outputKeeper) close() {
	if o != nil {
		_ = o.redis.Close()
	}
}
