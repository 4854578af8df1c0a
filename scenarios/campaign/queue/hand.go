package queue

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// hand is the chunks that a machine has in hand, by their subjects.
type hand struct {
	mu   sync.Mutex
	held map[string]*held
}

// held is a chunk in hand.
type held struct {
	jetstream.Msg
	every time.Duration // how often it is reported to the server
	told  time.Time     // when it was last reported
}

// take takes a chunk in hand. It returns false if the chunk is in hand already and was redelivered because it
// was not reported.
func (h *hand) take(msg jetstream.Msg, every time.Duration, now time.Time) (fresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, there := h.held[msg.Subject()]
	if h.held == nil {
		h.held = map[string]*held{}
	}
	h.held[msg.Subject()] = &held{msg, every, now}
	return !there
}

// hasOnly says whether no chunk is in hand except that of a subject.
func (h *hand) hasOnly(subject string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for other := range h.held {
		if other != subject {
			return false
		}
	}
	return true
}

func (h *hand) empty() bool { return h.hasOnly("") }

// keep reports the chunks as under way when it is time.
func (h *hand) keep(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.held {
		if now.Sub(c.told) >= c.every {
			c.told = now
			_ = c.InProgress() // the next one may succeed, once there is a connection
		}
	}
}

// done acknowledges a chunk whose records are stored. If the server does not learn of it, the chunk is done
// again.
func (h *hand) done(ctx context.Context, subject string) error {
	h.mu.Lock()
	c := h.held[subject]
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err := c.DoubleAck(ctx)
	h.mu.Lock()
	delete(h.held, subject)
	h.mu.Unlock()
	return err
}

// back gives back the chunks that are not done, except the chunk of one subject, so that another machine has
// them at once.
func (h *hand) back(but string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for subject, c := range h.held {
		if subject != but {
			_ = c.Nak() // otherwise it is redelivered once its time is over
			delete(h.held, subject)
		}
	}
}
