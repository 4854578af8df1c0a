package dlq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/audit"
)

// growthKey exists for as long as the queue grows too fast; it holds since when, in unix ms. All replicas
// go by it, so that there is one alert and not one of each.
const growthKey = "cordum:dlq:growth"

// Growth is how the queue has grown.
type Growth struct {
	Depth    int  // entries
	New      int  // of those, how many came within the window
	Alert    bool // more came than may
	Alerting bool // the alert is raised already
}

// Growth looks at how the queue has grown within a window: more than limit new entries are too many.
func (q *Queue) Growth(ctx context.Context, window time.Duration, limit int) (Growth, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	var depth, fresh *redis.IntCmd
	var raised *redis.StringCmd
	since := q.Clock.Now().Add(-window).UnixMilli()
	_, err := q.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		depth = p.ZCard(ctx, IndexKey)
		fresh = p.ZCount(ctx, IndexKey, "("+strconv.FormatInt(since, 10), "+inf")
		raised = p.Get(ctx, growthKey)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return Growth{}, fmt.Errorf("growth of %s: %w", IndexKey, err)
	}
	return Growth{Depth: int(depth.Val()), New: int(fresh.Val()), Alert: int(fresh.Val()) > limit, Alerting: raised.Err() == nil}, nil
}

// Alarm raises the alert, or ends it, with its event.
func (q *Queue) Alarm(ctx context.Context, on bool, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	now := q.Clock.Now().UnixMilli()
	_, err := q.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		e := audit.Event{At: now, Kind: EventGrowthOver, Reason: reason, By: byWorker}
		if on {
			e.Kind = EventGrowth
			p.Set(ctx, growthKey, now, 0)
		} else {
			p.Del(ctx, growthKey)
		}
		return audit.Put(ctx, p, e)
	})
	if err != nil {
		return fmt.Errorf("growth alert: %w", err)
	}
	return nil
}
