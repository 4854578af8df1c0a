package queue

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// hand is the chunks that a machine has in hand, by their first runs.
type hand struct {
	mu    sync.Mutex
	held  map[int]jetstream.Msg
	every time.Duration // how often the server is told that they are under way
	last  time.Time     // when it was
}

// take takes a chunk. One that is here already was delivered again, for want of a word: it is not begun twice.
func (h *hand) take(first int, msg jetstream.Msg) (fresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, there := h.held[first]
	h.held[first] = msg
	return !there
}

// keep tells the server now and then that the chunks are under way.
func (h *hand) keep(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.last) < h.every {
		return
	}
	h.last = now
	for _, msg := range h.held {
		_ = msg.InProgress() // without a connection the next one may do
	}
}

// done says that a chunk's records are stored. If the server does not learn of it, the chunk is done again.
func (h *hand) done(ctx context.Context, first int) error {
	h.mu.Lock()
	msg := h.held[first]
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err := msg.DoubleAck(ctx)
	h.mu.Lock()
	delete(h.held, first)
	h.mu.Unlock()
	return err
}

// back gives back what is not done, so that another machine has it at once.
func (h *hand) back() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, msg := range h.held {
		_ = msg.Nak() // else it is delivered again once its time is over
	}
	clear(h.held)
}

// finished is a chunk whose runs are done.
type finished struct {
	campaign.Chunk
	runs []campaign.Record
}
