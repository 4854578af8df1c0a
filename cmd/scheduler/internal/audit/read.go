package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
)

// ourKeys are the schedulers' keys that something is judged by; a database may hold others. No invariant judges saga:*
// and output:* without the events that led there.
var ourKeys = []string{"job:*", "dlq:*", "cordum:*", "sys:workers:*"}

const (
	readBatch  = 500              // keys in one round trip
	readWithin = 30 * time.Second // for one answer of a server
)

// Read reads what the servers hold of jobs. It changes nothing.
func Read(ctx context.Context, c *servers.Clients, show *cli.Progress) (in judge.AuditInput, err error) {
	keys := map[string]bool{} // a scan may say a key twice
	for _, pattern := range ourKeys {
		scan := c.Redis.Scan(ctx, 0, pattern, readBatch).Iterator()
		for scan.Next(ctx) {
			keys[scan.Val()] = true
		}
		if err := scan.Err(); err != nil {
			return in, fmt.Errorf("redis: %w", err)
		}
	}
	in.Redis, in.Types, in.TTLs = make(map[string]map[string]string, len(keys)), make(map[string]string, len(keys)), map[string]time.Duration{}
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(keys)), readBatch) {
		if err := readKeys(ctx, c.Redis, batch, &in); err != nil {
			return in, fmt.Errorf("redis: %w", err)
		}
		show.Show("%d of %d keys read", len(in.Redis), len(keys))
	}
	for _, name := range []string{bus.StreamSys, bus.StreamJobs} {
		if err := readStream(ctx, c.JS, name, &in, show); err != nil {
			return in, fmt.Errorf("stream %s: %w", name, err)
		}
	}
	return in, nil
}

// readKeys reads whole keys, flattened to fields: a string under "", a hash's fields, a sorted set's
// members with their scores. Sets and lists are left out: a tenant's jobs in flight and the audit trail, which no invariant
// judges without the events that led there. So is a key that is gone meanwhile.
func readKeys(ctx context.Context, client *redis.Client, keys []string, in *judge.AuditInput) error {
	types := make([]*redis.StatusCmd, len(keys))
	ttls := make([]*redis.DurationCmd, len(keys))
	err := pipelined(ctx, client, func(ctx context.Context, p redis.Pipeliner) {
		for i, key := range keys {
			types[i], ttls[i] = p.Type(ctx, key), p.PTTL(ctx, key)
		}
	})
	if err != nil {
		return err
	}
	var flatten []func()
	put := func(key string, fields func() map[string]string) {
		flatten = append(flatten, func() {
			if f := fields(); len(f) > 0 {
				in.Redis[key] = f
			}
		})
	}
	err = pipelined(ctx, client, func(ctx context.Context, p redis.Pipeliner) {
		for i, key := range keys {
			switch types[i].Val() {
			case "string":
				cmd := p.Get(ctx, key)
				put(key, func() map[string]string {
					if cmd.Err() != nil {
						return nil
					}
					return map[string]string{"": cmd.Val()}
				})
			case "hash":
				cmd := p.HGetAll(ctx, key)
				put(key, cmd.Val)
			case "zset":
				cmd := p.ZRangeWithScores(ctx, key, 0, -1)
				put(key, func() map[string]string {
					fields := make(map[string]string, len(cmd.Val()))
					for _, z := range cmd.Val() {
						fields[fmt.Sprint(z.Member)] = strconv.FormatFloat(z.Score, 'f', -1, 64)
					}
					return fields
				})
			}
		}
	})
	if err != nil {
		return err
	}
	for _, f := range flatten {
		f()
	}
	for i, key := range keys {
		in.Types[key] = types[i].Val()
		if ttl := ttls[i].Val(); ttl > 0 {
			in.TTLs[key] = ttl
		}
	}
	return nil
}

// pipelined makes one round trip. That a key is gone is no failure.
func pipelined(ctx context.Context, client *redis.Client, fill func(context.Context, redis.Pipeliner)) error {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		fill(ctx, p)
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// readStream reads every message that a stream holds now, in its order.
func readStream(ctx context.Context, js jetstream.JetStream, name string, in *judge.AuditInput, show *cli.Progress) error {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return err
	}
	last, held := stream.CachedInfo().State.LastSeq, stream.CachedInfo().State.Msgs
	if held == 0 {
		return nil
	}
	consumer, err := js.OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	msgs, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer msgs.Stop()
	for n := 1; ; n++ {
		wait, cancel := context.WithTimeout(ctx, readWithin)
		msg, err := msgs.Next(jetstream.NextContext(wait))
		cancel()
		if err != nil {
			return err
		}
		md, err := msg.Metadata()
		if err != nil {
			return err
		}
		header := map[string]string{}
		for k, v := range msg.Headers() {
			header[k] = strings.Join(v, ",")
		}
		in.AddMessage(name, md.Sequence.Stream, msg.Subject(), header, string(msg.Data()))
		if n%readBatch == 0 {
			show.Show("%d of %d messages of %s read", n, held, name)
		}
		if md.Sequence.Stream >= last || md.NumPending == 0 {
			return nil
		}
	}
}
