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

// WaitKey is the key that [Replica] writes. Nobody reads it.
const WaitKey = "cordum:scheduler:wait"

// The errors of a wait for a replica.
var (
	ErrNotReplicated = errors.New("no replica of Redis has what was written")
	ErrFailedOver    = errors.New("a failover of Redis since then may have lost what was written")
)

// Replica waits until a replica of Redis has what was written: Redis replicates asynchronously, so that a failover loses
// writes that were confirmed (Redis documentation, "Redis replication"). A nil Replica
// waits for nothing. It is safe for concurrent use.
type Replica struct {
	Redis   redis.UniversalClient
	Timeout time.Duration // of one operation

	mu sync.Mutex
	id string // the master's replication ID, as last seen; a replica that becomes the master takes another
}

// Since begins a stretch of writes. confirm returns nil once a replica has all of them. It returns ErrFailedOver if another
// master than at the beginning has the last of them, and ErrNotReplicated if none was seen to have them in half of the timeout.
func (r *Replica) Since(ctx context.Context, jobID string) (confirm func(context.Context) error) {
	if r == nil {
		return func(context.Context) error { return nil }
	}
	began := r.seen("")
	if began == "" { // by this process's first handling
		began = r.learn(ctx, jobID)
	}
	return func(ctx context.Context) error {
		id, err := r.wait(ctx, jobID)
		if err == nil && id != began {
			err = ErrFailedOver
		}
		return err
	}
}

// seen takes in a replication ID, if it is one, and returns the last.
func (r *Replica) seen(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id != "" {
		r.id = id
	}
	return r.id
}

// learn asks for the replication ID. Without one nothing is confirmed.
func (r *Replica) learn(ctx context.Context, jobID string) string {
	ctx, cancel := context.WithTimeout(phase.With(ctx, jobID, phase.ReplicaRead), r.Timeout)
	defer cancel()
	info, err := r.Redis.Info(ctx, "replication").Result()
	if err != nil {
		return ""
	}
	return r.seen(replicationID(info))
}

// wait returns once a replica has what anybody has written before, and says under which replication ID. WAIT counts what its
// own connection has written: a replica that has that has all that came before it, too.
func (r *Replica) wait(ctx context.Context, jobID string) (id string, err error) {
	ctx, cancel := context.WithTimeout(phase.With(ctx, jobID, phase.ReplicaWait), r.Timeout)
	defer cancel()
	var info *redis.StringCmd
	var replicas *redis.Cmd
	_, err = r.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, WaitKey, 1, 0)
		info = p.Info(ctx, "replication")
		replicas = p.Do(ctx, "wait", 1, r.Timeout.Milliseconds()/2)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("wait for a replica: %w", err)
	}
	if n, err := replicas.Int(); err != nil || n == 0 {
		return "", errors.Join(ErrNotReplicated, err)
	}
	id = replicationID(info.Val())
	r.seen(id)
	return id, nil
}

// replicationID reads a master's replication ID from what INFO replication says.
func replicationID(info string) string {
	_, rest, _ := strings.Cut(info, "master_replid:")
	id, _, _ := strings.Cut(rest, "\r\n")
	return id
}
