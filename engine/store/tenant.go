package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// ErrTenantFull says that a move to DISPATCHED was not made: the tenant has as many jobs in flight as
// the write allows.
var ErrTenantFull = errors.New("the tenant has as many jobs in flight as it may have")

// tenantKey is the key of a set: a tenant's jobs that are DISPATCHED or RUNNING.
func tenantKey(tenant string) string {
	return "cordum:tenant:" + job.TenantOf(tenant) + ":active"
}

// place keeps the tenant's set as the move leaves the job, wherever the job came from: without a fence a
// late write may find it in another state than its writer read.
func (s *Store) place(ctx context.Context, p redis.Pipeliner, w *Write) {
	switch {
	case !s.Tenants:
	case w.To.InFlight():
		p.SAdd(ctx, tenantKey(w.Tenant), w.JobID)
	default:
		p.SRem(ctx, tenantKey(w.Tenant), w.JobID)
	}
}

// full says whether the tenant has no slot left for one more job; of what was found in its set.
func full(count *redis.IntCmd, member *redis.BoolCmd, limit int) bool {
	return limit > 0 && int(count.Val()) >= limit && !member.Val()
}

// InFlight counts the jobs of a tenant that are DISPATCHED or RUNNING.
func (s *Store) InFlight(ctx context.Context, tenant string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	n, err := s.Redis.SCard(ctx, tenantKey(tenant)).Result()
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", tenantKey(tenant), err)
	}
	return int(n), nil
}

// Over lists, of a tenant's jobs in flight, those that are over or have no record: while nobody kept the
// set, or the servers lost some of what they held, jobs ended that are still in it.
func (s *Store) Over(ctx context.Context, tenant string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	members, err := s.Redis.SMembers(ctx, tenantKey(tenant)).Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", tenantKey(tenant), err)
	}
	if len(members) == 0 {
		return nil, nil
	}
	slices.Sort(members)
	states := make([]*redis.SliceCmd, len(members))
	_, err = s.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range members {
			states[i] = p.HMGet(ctx, JobKey(id), fieldState)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the jobs in %s: %w", tenantKey(tenant), err)
	}
	var over []string
	for i, id := range members {
		word, _ := states[i].Val()[0].(string)
		if state := job.State(word); state == job.Absent || state.Terminal() {
			over = append(over, id)
		}
	}
	return over, nil
}

// GiveBack takes jobs that are over out of their tenant's set. Over is for good, so that nothing can have
// come between.
func (s *Store) GiveBack(ctx context.Context, tenant string, over []string) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	members := make([]any, len(over))
	for i, id := range over {
		members[i] = id
	}
	if err := s.Redis.SRem(ctx, tenantKey(tenant), members...).Err(); err != nil {
		return fmt.Errorf("take %d jobs out of %s: %w", len(over), tenantKey(tenant), err)
	}
	return nil
}
