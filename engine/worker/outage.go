package worker

import (
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/outage"
)

func (w *Worker) outage(fails, over string) *outage.Log {
	return &outage.Log{Logger: w.Logger, Clock: w.Clock, Fails: fails, Over: over}
}

// noStream says what a missing stream means.
func noStream(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return errors.New("there is no such stream; a scheduler makes it, and none has run here yet")
	}
	return err
}
