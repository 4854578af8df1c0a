package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// observerName is the name of the world's own consumer of each stream. Processes do not see it.
const observerName = "wavetank-world"

// observe puts an observer on a stream that exists and has none yet. The observer is a consumer of the
// world's own: the server sends it each message that the stream stores, from the sequence first on. A stream
// that was deleted and made again counts as another stream.
func (s *natsServer) observe(name string, first uint64) {
	if s.down.Load() {
		return
	}
	stream, err := s.js.Stream(context.Background(), name)
	there := err == nil
	o := s.streams[name]
	if there && o != nil && o.created.Equal(stream.CachedInfo().Created) {
		o.subjects = stream.CachedInfo().Config.Subjects
		return
	}
	if o != nil {
		_ = o.sub.Unsubscribe()
		delete(s.streams, name)
	}
	if !there { // the call that was to make it failed, or it was deleted
		return
	}
	o = &observer{last: first - 1, created: stream.CachedInfo().Created, subjects: stream.CachedInfo().Config.Subjects}
	inbox := nats.NewInbox()
	o.sub, err = s.admin.Subscribe(inbox, func(m *nats.Msg) {
		o.mu.Lock()
		o.stored = append(o.stored, m)
		o.mu.Unlock()
		s.news.Store(true)
	})
	if err == nil {
		_, err = s.js.CreatePushConsumer(context.Background(), name, jetstream.ConsumerConfig{
			Name: observerName, DeliverSubject: inbox, AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: first,
			MemoryStorage: true, InactiveThreshold: forever,
		})
	}
	if err != nil {
		panic(fmt.Sprintf("sim: cannot observe stream %s: %v", name, err))
	}
	s.streams[name] = o
}

// observer collects the messages that one stream has stored since they were last read.
type observer struct {
	created  time.Time // of the stream
	subjects []string  // of the stream
	sub      *nats.Subscription

	mu     sync.Mutex
	stored []*nats.Msg
	last   uint64 // sequence
}

// takes says whether a message on a subject is stored by a stream, or handled by nats-server itself.
func (s *natsServer) takes(subject string) bool {
	if strings.HasPrefix(subject, "$JS.") {
		return true
	}
	for _, o := range s.streams {
		if slices.ContainsFunc(o.subjects, func(filter string) bool { return natsserver.SubjectMatchesFilter(subject, filter) }) {
			return true
		}
	}
	return false
}

// stored appends the messages that the streams have stored since it was last called.
func (s *natsServer) stored(changes []Change) []Change {
	if !s.news.Swap(false) {
		return changes
	}
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

// flat returns a header with one value for each key.
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
