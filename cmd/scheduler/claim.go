package main

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

const claimWithin = time.Second

// claimSubjects, each with the worker's id behind it, are where who lives answers. The second is that of workers from
// before the project's renaming.
var claimSubjects = []string{"wavetank.worker.", "faultline.worker."}

// claim answers for a worker's name from now on, and refuses it if another one does. It answers before it asks:
// of two that start at once one is refused, or both. nc has no echo, so that a worker does not meet itself. A
// NATS that does not answer yet knows of nobody.
func claim(ctx context.Context, nc *nats.Conn, id string) error {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	for _, subject := range claimSubjects {
		sub, err := nc.Subscribe(subject+id, func(msg *nats.Msg) { _ = msg.Respond(nil) })
		if err != nil {
			return err
		}
		if _, err := nc.RequestWithContext(ctx, subject+id, nil); err == nil {
			_ = sub.Unsubscribe()
			return cli.Fail(cli.ExitUsage, "a worker called %s is alive already, and one would get the other's jobs; give this worker another name with --id", id)
		}
	}
	return nil
}
