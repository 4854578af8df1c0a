package main

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	claimSubject = "faultline.worker." // and the worker's id: who lives answers there
	claimWithin  = time.Second
)

// claim refuses the name of a worker that lives, and answers for it from then on. A NATS that does not answer
// yet knows of nobody.
func claim(ctx context.Context, nc *nats.Conn, id string) error {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	if _, err := nc.RequestWithContext(ctx, claimSubject+id, nil); err == nil {
		return fail(exitUsage, "a worker called %s lives already, and one of them would get the other's jobs; give this one another name with --id", id)
	}
	_, err := nc.Subscribe(claimSubject+id, func(msg *nats.Msg) { _ = msg.Respond(nil) })
	return err
}
