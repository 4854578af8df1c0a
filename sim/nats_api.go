package sim

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// api gates a management call.
func api[T any](ctx context.Context, p *Process, name, target string, call func() (T, error)) (out T, err error) {
	w := p.node.world
	looks := strings.HasPrefix(name, "Get") || strings.HasSuffix(name, "Info") || lists(name)
	op := &Op{Kind: KindAPI, Name: name, Target: target, Tags: w.cfg.Tags(ctx), Write: !looks}
	err = p.do(ctx, op, func() error {
		out, err = call()
		return err
	})
	return out, err
}

// act gates a management call that returns an error only.
func act(ctx context.Context, p *Process, name, target string, call func() error) error {
	_, err := api(ctx, p, name, target, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// lists says whether a management call lists streams or consumers.
func lists(name string) bool {
	return strings.HasPrefix(name, "List") || strings.HasSuffix(name, "Names")
}

// listing gates a call that lists. It is one step, and its result is sorted by name, since nats-server lists
// streams and consumers in no fixed order.
func listing[T any](ctx context.Context, p *Process, name, target string, key func(T) string, call func() (<-chan T, func() error)) *lister[T] {
	all, err := api(ctx, p, name, target, func() (all []T, _ error) {
		items, failed := call()
		for item := range items {
			if key(item) != observerName {
				all = append(all, item)
			}
		}
		slices.SortFunc(all, func(a, b T) int { return strings.Compare(key(a), key(b)) })
		return all, failed()
	})
	l := &lister[T]{make(chan T, len(all)), err}
	for _, item := range all {
		l.items <- item
	}
	close(l.items)
	return l
}

func itself(name string) string { return name }

// lister implements the listers of the client library, which differ only in the names of their methods.
type lister[T any] struct {
	items chan T
	err   error
}

func (l *lister[T]) Info() <-chan T   { return l.items }
func (l *lister[T]) Name() <-chan T   { return l.items }
func (l *lister[T]) Status() <-chan T { return l.items }
func (l *lister[T]) Err() error       { return l.err }
func (l *lister[T]) Error() error     { return l.err }

// refusedList is the empty list of a call that was refused.
func refusedList[T any]() *lister[T] {
	l := &lister[T]{make(chan T), ErrUngated}
	close(l.items)
	return l
}

// ErrUngated is returned by the calls of the jetstream API that work in the background, where the stepper
// cannot see them. Consume with Fetch, FetchNoWait or Next; publish with Publish or PublishMsg.
var ErrUngated = errors.New("sim: this call works in the background, where a world cannot step it; use Fetch, FetchNoWait, Next, Publish or PublishMsg")

func (*gatedJetStream) UpdatePushConsumer(context.Context, string, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) PublishAsync(string, []byte, ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) PublishMsgAsync(*nats.Msg, ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) OrderedConsumer(context.Context, string, jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) CreatePushConsumer(context.Context, string, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) CreateOrUpdatePushConsumer(context.Context, string, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) PushConsumer(context.Context, string, string) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) CreateKeyValue(context.Context, jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) CreateOrUpdateKeyValue(context.Context, jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) KeyValue(context.Context, string) (jetstream.KeyValue, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) UpdateKeyValue(context.Context, jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) DeleteKeyValue(context.Context, string) error { return ErrUngated }
func (*gatedJetStream) KeyValueStoreNames(context.Context) jetstream.KeyValueNamesLister {
	return refusedList[string]()
}
func (*gatedJetStream) KeyValueStores(context.Context) jetstream.KeyValueLister {
	return refusedList[jetstream.KeyValueStatus]()
}
func (*gatedJetStream) CreateObjectStore(context.Context, jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) CreateOrUpdateObjectStore(context.Context, jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) UpdateObjectStore(context.Context, jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) DeleteObjectStore(context.Context, string) error { return ErrUngated }
func (*gatedJetStream) ObjectStoreNames(context.Context) jetstream.ObjectStoreNamesLister {
	return refusedList[string]()
}
func (*gatedJetStream) ObjectStores(context.Context) jetstream.ObjectStoresLister {
	return refusedList[jetstream.ObjectStoreStatus]()
}
func (*gatedJetStream) ObjectStore(context.Context, string) (jetstream.ObjectStore, error) {
	return nil, ErrUngated
}

// Nothing is published in the background, so nothing is pending.
func (*gatedJetStream) PublishAsyncPending() int { return 0 }
func (*gatedJetStream) CleanupPublisher()        {}
func (*gatedJetStream) PublishAsyncComplete() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (*gatedStream) CreatePushConsumer(context.Context, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedStream) CreateOrUpdatePushConsumer(context.Context, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedStream) UpdatePushConsumer(context.Context, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedStream) PushConsumer(context.Context, string) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedStream) OrderedConsumer(context.Context, jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	return nil, ErrUngated
}

func (*gatedConsumer) FetchBytes(int, ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	return nil, ErrUngated
}
func (*gatedConsumer) Consume(jetstream.MessageHandler, ...jetstream.PullConsumeOpt) (jetstream.ConsumeContext, error) {
	return nil, ErrUngated
}
func (*gatedConsumer) Messages(...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	return nil, ErrUngated
}
