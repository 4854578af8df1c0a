package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/phase"
)

// waitKey is the key that [Replica] writes. Nobody reads it.
const waitKey = "cordum:scheduler:wait"

// The errors of a wait for a replica.
var (
	ErrNotReplicated = errors.New("a replica of Redis has not confirmed what was written, or there is none")
	ErrFailedOver    = errors.New("a failover of Redis since then may have lost what was written")
)

// Replica waits until the replicas of Redis have what was written: Redis replicates asynchronously, so that a failover loses
// writes that were confirmed (Redis documentation, "Redis replication"). It waits for every replica that is online, and
// for one at least: whoever promotes one of several goes by offsets that are seconds old (Redis documentation, "High
// availability with Redis Sentinel", replica selection). Until it has seen one it waits for none, and looks at each stretch of
// writes whether there is one by now. A nil Replica waits for nothing. It is safe for concurrent use.
type Replica struct {
	Redis   redis.UniversalClient
	Timeout time.Duration // of one operation

	mu   sync.Mutex
	last master
	seen bool
}

// master is what INFO replication says of the server that takes writes.
type master struct {
	id     string // its replication ID; a replica that becomes the master takes another; "" if it is not known
	online int    // replicas that follow it
}

// Since begins a stretch of writes. confirm returns nil once the replicas have all of them. It returns ErrFailedOver if
// another master than at the beginning has the last of them, and ErrNotReplicated if one, or there being none, has not
// confirmed them in half of the timeout.
func (r *Replica) Since(ctx context.Context, jobID string) (confirm func(context.Context) error) {
	if r == nil {
		return func(context.Context) error { return nil }
	}
	began := r.known()
	var unknown error
	if !r.Seen() {
		began, unknown = r.learn(ctx, jobID)
	}
	return func(ctx context.Context) error {
		if unknown == nil && !r.Seen() {
			return nil
		}
		now, err := r.wait(ctx, jobID)
		if err == nil && now.id != began.id {
			err = ErrFailedOver
		}
		return err
	}
}

// Seen says whether there has been a replica, which is waited for since then.
func (r *Replica) Seen() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

func (r *Replica) known() master {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// saw takes in what INFO replication says.
func (r *Replica) saw(info string) master {
	m := masterIn(info)
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.id != "" {
		r.last = m
	}
	r.seen = r.seen || m.online > 0
	return m
}

// learn asks who the master is, and whether it has a replica. A Redis that has no answer to that has none; if it is not
// known, nothing is confirmed.
func (r *Replica) learn(ctx context.Context, jobID string) (master, error) {
	ctx, cancel := context.WithTimeout(phase.With(ctx, jobID, phase.ReplicaRead), r.Timeout)
	defer cancel()
	info, err := r.Redis.Info(ctx, "replication").Result()
	if _, answered := errors.AsType[redis.Error](err); answered && !redis.IsLoadingError(err) && !redis.IsMasterDownError(err) && !redis.IsMaxClientsError(err) {
		return master{}, nil
	}
	if err != nil {
		return master{}, err
	}
	return r.saw(info), nil
}

// wait returns once the replicas have what anybody has written before, and says of which master. WAIT counts what its own
// connection has written: a replica that has that has all that came before it, too. It waits for as many as there were
// last time; what counts is how many there are now.
func (r *Replica) wait(ctx context.Context, jobID string) (master, error) {
	ctx, cancel := context.WithTimeout(phase.With(ctx, jobID, phase.ReplicaWait), r.Timeout)
	defer cancel()
	var info *redis.StringCmd
	var confirmed *redis.Cmd
	_, err := r.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, waitKey, 1, 0)
		info = p.Info(ctx, "replication")
		confirmed = p.Do(ctx, "wait", max(1, r.known().online), r.Timeout.Milliseconds()/2)
		return nil
	})
	if err != nil {
		return master{}, fmt.Errorf("wait for a replica: %w", err)
	}
	m := r.saw(info.Val())
	if n, err := confirmed.Int(); err != nil || n < max(1, m.online) {
		return master{}, errors.Join(ErrNotReplicated, err)
	}
	return m, nil
}

// Online counts the replicas that follow a master of Redis at the moment.
func Online(ctx context.Context, c redis.UniversalClient) (int, error) {
	info, err := c.Info(ctx, "replication").Result()
	if err != nil {
		return 0, fmt.Errorf("count the replicas: %w", err)
	}
	return masterIn(info).online, nil
}

// masterIn reads what INFO replication says, such as
//
//	master_replid:8f25a537231aee2e97c79b52e744b9f8743a3a98
//	slave0:ip=10.0.0.7,port=6379,state=online,offset=157,lag=0
func masterIn(info string) (m master) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case name == "master_replid":
			m.id = value
		case strings.HasPrefix(name, "slave") && strings.Contains(value, "state=online"):
			m.online++
		}
	}
	return m
}
