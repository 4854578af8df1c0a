package main

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	claimSubject = "wavetank.worker." // and the worker's id: who lives answers there
	claimWithin  = time.Second
)

// claim answers for a worker's name from now on, and refuses it if another one does. It answers before it asks:
// of two that start at once one is refused, or both. nc has no echo, so that a worker does not meet itself. A
// NATS that does not answer yet knows of nobody.
func claim(ctx context.Context, nc *nats.Conn, id string) error {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	sub, err := nc.Subscribe(claimSubject+id, func(msg *nats.Msg) { _ = msg.Respond(nil) })
	if err != nil {
		return err
	}
	if _, err := nc.RequestWithContext(ctx, claimSubject+id, nil); err == nil {
		_ = sub.Unsubscribe()
		return fail(exitUsage, "a worker called %s lives already, and one of them would get the other's jobs; give this one another name with --id", id)
	}
	return nil
}
