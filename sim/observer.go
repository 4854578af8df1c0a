package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// observeStreams puts an observer on every stream that has none yet.
func (w *World) observeStreams() {
	names := w.adminJS.StreamNames(context.Background())
	for name := range names.Name() {
		w.observe(name, 1)
	}
}

// observe puts an observer on a stream, if there is such a stream and it has none yet: a consumer of
// the world's own, which the server tells of each message it has stored, from the sequence first on.
func (w *World) observe(name string, first uint64) {
	if w.streams[name] != nil || w.down.Load() {
		return
	}
	o := &observer{last: first - 1}
	inbox := nats.NewInbox()
	sub, err := w.admin.Subscribe(inbox, o.see)
	if err != nil {
		panic(fmt.Sprintf("sim: cannot observe stream %s: %v", name, err))
	}
	_, err = w.adminJS.CreatePushConsumer(context.Background(), name, jetstream.ConsumerConfig{
		DeliverSubject: inbox, AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: first,
		MemoryStorage: true, InactiveThreshold: 365 * 24 * time.Hour,
	})
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound): // the call that was to make it failed
		_ = sub.Unsubscribe()
	case err != nil:
		panic(fmt.Sprintf("sim: cannot observe stream %s: %v", name, err))
	default:
		w.streams[name] = o
	}
}

// observer collects what one stream has stored since it was last asked.
type observer struct {
	mu     sync.Mutex
	stored []*nats.Msg
	last   uint64 // sequence
}

func (o *observer) see(m *nats.Msg) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stored = append(o.stored, m)
}

func (o *observer) take() []*nats.Msg {
	o.mu.Lock()
	defer o.mu.Unlock()
	stored := o.stored
	o.stored = nil
	return stored
}

// readStreams returns the messages that the streams have stored since it was last called.
func (w *World) readStreams() (changes []Change) {
	for _, name := range sortedKeys(w.streams) {
		o := w.streams[name]
		for _, m := range o.take() {
			md, err := m.Metadata()
			if err != nil {
				continue
			}
			o.last = md.Sequence.Stream
			changes = append(changes, Change{Stream: name, Seq: md.Sequence.Stream, Subject: m.Subject, Value: string(m.Data), Header: flat(m.Header)})
		}
	}
	return changes
}

// flat is a header with one value for each key.
func flat(h nats.Header) map[string]string {
	if len(h) == 0 {
		return nil
	}
	flat := make(map[string]string, len(h))
	for k, v := range h {
		flat[k] = strings.Join(v, ",")
	}
	return flat
}
