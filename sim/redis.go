package sim

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Redis is what steps that are about Redis itself call it.
const Redis = "redis"

// redisServer is a world's Redis, with what the world knows of what it holds.
type redisServer struct {
	world *World
	store store

	shadow    map[string]value // what the steps were seen to write
	deadlines deadlines
	counted   time.Duration   // when miniredis's TTLs were brought up to date
	given     map[string]bool // the keys whose new TTL was noted in the present step
	unlagged  []before        // what it held before its last writes, the oldest first
	rewound   []Change        // by a failover, in the present step
}

func (s *redisServer) start() error {
	s.store, s.shadow, s.given = store{miniredis.NewMiniRedis()}, map[string]value{}, map[string]bool{}
	s.store.Seed(int(s.world.Draw("redis"))) // of SPOP and the like
	return nil
}

func (s *redisServer) dial(p *Process) (client, error) {
	c := &redisClient{p: p, server: s}
	c.redis = redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", // never dialled; a host name would be looked up
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			conn, err := s.store.Dial()
			return &wire{Conn: conn, client: c}, err
		},
		MaxRetries:               -1,
		Protocol:                 2,
		PoolSize:                 256, // the default depends on GOMAXPROCS
		DisableIdentity:          true,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	c.redis.AddHook(c)
	return c, nil
}

func (s *redisServer) adopt() {} // the harness writes nothing to Redis

func (s *redisServer) before(op *Op) {
	s.expire()
	if c, ok := op.call.(*redisCall); ok {
		s.countDown(c.ttls)
	}
}

func (s *redisServer) changed(op *Op, changes []Change) []Change {
	if c, ok := op.call.(*redisCall); ok && c.applied {
		clear(s.given)
		changes = s.readTouched(changes, c)
	}
	changes = append(changes, s.rewound...)
	s.rewound = nil
	return changes
}

// Redis reads everything that Redis holds, key by key and field by field.
func (w *World) Redis() map[string]map[string]string {
	s := find[*redisServer](w.servers)
	s.expire()
	all := map[string]map[string]string{}
	for _, k := range s.store.Keys() {
		if v, ok := s.store.read(k); ok {
			all[k] = v.fields
		}
	}
	return all
}

// RedisKey reads a key as it was after the last step, field by field.
func (w *World) RedisKey(key string) map[string]string {
	return find[*redisServer](w.servers).shadow[key].fields
}

func (s *redisServer) check() error {
	now := s.world.Redis()
	for _, k := range sortedKeys(now) {
		known, ok := s.shadow[k]
		if !ok {
			return fmt.Errorf("sim: Redis holds %s, which no step was seen to write", k)
		}
		for _, f := range sortedKeys(now[k]) {
			if known.fields[f] != now[k][f] {
				return fmt.Errorf("sim: Redis holds %s %s = %q, but the steps wrote %q", k, f, now[k][f], known.fields[f])
			}
		}
	}
	for _, k := range sortedKeys(s.shadow) {
		if _, ok := now[k]; !ok {
			return fmt.Errorf("sim: Redis has lost %s without a step or an expiry", k)
		}
	}
	return nil
}

// stop also closes Redis's end of the connections on which something is held back.
func (s *redisServer) stop() { s.store.Close() }
