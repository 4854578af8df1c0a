package sim

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Redis is the name of Redis in steps of its own.
const Redis = "redis"

// redisServer is a world's Redis, and what the world knows of its content.
type redisServer struct {
	world *World
	store store

	shadow    map[string]value // the content, as the steps were seen to write it
	deadlines deadlines
	unlagged  []before // what its last writes have replaced, the oldest first
	rewound   []Change // changed back by a failover or a death, in the present step
	gone      int      // how often a failover or a death has ended it
	disk      disk

	replicated time.Duration // the replica has everything that was written until then
	seen       []sight       // the places at which the present step may have changed something
	watches    atomic.Int32  // how many connections WATCH keys
	held       []net.Conn    // connections on which something was held back, and which their processes leave open
}

func (s *redisServer) start() (err error) {
	s.shadow = map[string]value{}
	if s.world.cfg.RedisServer == "" {
		s.store, err = newMini(s.world, &s.watches)
	} else {
		s.store, err = newReal(s.world)
	}
	if err != nil {
		return err
	}
	if s.world.cfg.RedisDisk != "" {
		s.store.sync(0)
	}
	return nil
}

func (s *redisServer) dial(p *Process) (client, error) {
	c := &redisClient{p: p, server: s}
	c.redis = redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", // never dialled; a host name would be looked up
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			conn, err := s.store.dial()
			return &wire{Conn: &rewriter{Conn: conn, client: c}, client: c, born: s.gone}, err
		},
		MaxRetries:               -1,
		Protocol:                 2,
		PoolSize:                 256,     // the default depends on GOMAXPROCS
		ReadBufferSize:           4 << 10, // of each connection; the default is eight times that
		WriteBufferSize:          4 << 10,
		DisableIdentity:          true,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	c.redis.AddHook(c)
	return c, nil
}

func (s *redisServer) adopt() {} // the harness writes nothing to Redis

func (s *redisServer) before(op *Op) {
	s.savePoint()
	s.expire()
	c, ok := op.call.(*redisCall)
	if ok && slices.ContainsFunc(c.ttls, func(key string) bool { return s.shadow[key].expires > 0 }) {
		s.store.countDown()
	}
}

func (s *redisServer) changed(op *Op, changes []Change) []Change {
	if c, ok := op.call.(*redisCall); ok && c.applied {
		before := len(changes)
		changes = s.readTouched(changes, c)
		s.wrote(changes[before:])
		if c.waited {
			s.replicated = s.world.Now()
		}
	}
	changes = append(changes, s.rewound...)
	s.rewound = nil
	return changes
}

// Redis returns everything that Redis holds, by key and field.
func (w *World) Redis() map[string]map[string]string {
	all := map[string]map[string]string{}
	for key, v := range find[*redisServer](w.servers).everything() {
		all[key] = v.fields
	}
	return all
}

// everything reads the content of each key, and when it expires.
func (s *redisServer) everything() map[string]value {
	s.expire()
	all := map[string]value{}
	whole := wholeKeys(s.store.keys())
	s.known(whole)
	for i, seen := range s.store.look(whole, nil) {
		if key := whole.touched[i].key; seen.holds {
			seen.expires = s.store.expiry(key, s.shadow[key].expires, false)
			all[key] = seen.value
		}
	}
	return all
}

// RedisKey returns the fields of a key as they were after the last step.
func (w *World) RedisKey(key string) map[string]string {
	return find[*redisServer](w.servers).shadow[key].fields
}

func (s *redisServer) check() error {
	all := s.everything()
	for _, key := range sortedKeys(all) {
		now, known := all[key], s.shadow[key]
		if known.fields == nil {
			return fmt.Errorf("sim: Redis holds %s, which no step was seen to write", key)
		}
		if now.kind != known.kind {
			return fmt.Errorf("sim: Redis holds a %s at %s, but the steps wrote a %s", now.kind, key, known.kind)
		}
		if now.expires != known.expires {
			return fmt.Errorf("sim: Redis has %s expire at %s, but the steps had it expire at %s", key, now.expires, known.expires)
		}
		if differ := appendDifference(nil, key, known, now); len(differ) > 0 {
			field := differ[0].Field
			if differ[0].Gone {
				return fmt.Errorf("sim: Redis has lost %s %s without a step or an expiry", key, field)
			}
			return fmt.Errorf("sim: Redis holds %s %s = %q, but the steps wrote %q", key, field, now.fields[field], known.fields[field])
		}
	}
	for _, key := range sortedKeys(s.shadow) {
		if _, holds := all[key]; !holds {
			return fmt.Errorf("sim: Redis has lost %s without a step or an expiry", key)
		}
	}
	return nil
}

func (s *redisServer) stop() {
	for _, conn := range s.held {
		_ = conn.Close()
	}
	s.store.close()
}
