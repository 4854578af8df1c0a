package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Query asks for the jobs of a sorted set whose time is not after Until: those that came into a state
// by then (IndexKey), or whose deadline was then (DeadlinesKey).
type Query struct {
	Key   string
	Until time.Time
	Skip  int // this many of the first
}

// List answers queries as of one instant: job ids, the oldest first, at most limit for each query.
func (s *Store) List(ctx context.Context, limit int, queries ...Query) ([][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	answers := make([]*redis.StringSliceCmd, len(queries))
	_, err := s.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for i, q := range queries {
			answers[i] = p.ZRangeByScore(ctx, q.Key, &redis.ZRangeBy{
				Min: "-inf", Max: strconv.FormatInt(q.Until.UnixMilli(), 10), Offset: int64(q.Skip), Count: int64(limit),
			})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list jobs by %s: %w", queries[0].Key, err)
	}
	ids := make([][]string, len(queries))
	for i, a := range answers {
		ids[i] = a.Val()
	}
	return ids, nil
}

// ReadAll returns the records of jobs as of one instant, in their order. A job without a record is left
// out, as is one whose record cannot be believed; of those, unreadable says why. The caller holds no lock,
// so Cache is not told.
func (s *Store) ReadAll(ctx context.Context, jobIDs []string) (records []Record, unreadable []error, err error) {
	if len(jobIDs) == 0 {
		return nil, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	answers := make([]*redis.MapStringStringCmd, len(jobIDs))
	_, err = s.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range jobIDs {
			answers[i] = p.HGetAll(ctx, JobKey(id))
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read %d records: %w", len(jobIDs), err)
	}
	records = make([]Record, 0, len(jobIDs))
	for i, a := range answers {
		if len(a.Val()) == 0 {
			continue
		}
		switch r, err := parse(jobIDs[i], a.Val()); {
		case err == nil:
			records = append(records, r)
		case !errors.Is(err, ErrNotFound): // which is what a cancellation that was kept ahead comes to
			unreadable = append(unreadable, err)
		}
	}
	return records, unreadable, nil
}
