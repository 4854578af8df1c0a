package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// observe puts an observer on a stream, if there is such a stream and it has none yet. It is a consumer of
// the world's own: the server sends it each message that the stream has stored, from the sequence first on.
func (s *natsServer) observe(name string, first uint64) {
	if s.streams[name] != nil || s.down.Load() {
		return
	}
	o := &observer{last: first - 1}
	inbox := nats.NewInbox()
	sub, err := s.admin.Subscribe(inbox, func(m *nats.Msg) {
		o.mu.Lock()
		o.stored = append(o.stored, m)
		o.mu.Unlock()
	})
	if err == nil {
		_, err = s.js.CreatePushConsumer(context.Background(), name, jetstream.ConsumerConfig{
			DeliverSubject: inbox, AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: first,
			MemoryStorage: true, InactiveThreshold: forever,
		})
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound): // the call that was to make it failed
		_ = sub.Unsubscribe()
	case err != nil:
		panic(fmt.Sprintf("sim: cannot observe stream %s: %v", name, err))
	default:
		s.streams[name] = o
	}
}

// observer collects what one stream has stored since it was last asked.
type observer struct {
	mu     sync.Mutex
	stored []*nats.Msg
	last   uint64 // sequence
}

// stored appends the messages that the streams have stored since it was last called.
func (s *natsServer) stored(changes []Change) []Change {
	for _, name := range sortedKeys(s.streams) {
		o := s.streams[name]
		o.mu.Lock()
		stored := o.stored
		o.stored = nil
		o.mu.Unlock()
		for _, m := range stored {
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
