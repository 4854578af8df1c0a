package dlq

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wavetank-sim/wavetank/engine/audit"
)

// listBatch is how many entries are read at once.
const listBatch = 500

// List returns every entry, the oldest first. One that has expired, or cannot be read, is left out.
func (q *Queue) List(ctx context.Context) (entries []Entry, err error) {
	for from := int64(0); ; from += listBatch {
		batch, n, err := q.list(ctx, from)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", IndexKey, err)
		}
		entries = append(entries, batch...)
		if n < listBatch {
			return entries, nil
		}
	}
}

func (q *Queue) list(ctx context.Context, from int64) (entries []Entry, n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	ids, err := q.Redis.ZRange(ctx, IndexKey, from, from+listBatch-1).Result()
	if err != nil || len(ids) == 0 {
		return nil, 0, err
	}
	entries, err = q.entries(ctx, ids)
	return entries, len(ids), err
}

// entries reads those of the jobs. One that has expired, or cannot be read, is left out.
func (q *Queue) entries(ctx context.Context, ids []string) (entries []Entry, err error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = EntryKey(id)
	}
	values, err := q.Redis.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		var e Entry
		if text, there := v.(string); there && json.Unmarshal([]byte(text), &e) == nil {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// Trail returns what the audit trail holds of a job, the oldest first.
func (q *Queue) Trail(ctx context.Context, jobID string) (events []audit.Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	lines, err := q.Redis.LRange(ctx, audit.Key, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("audit trail: %w", err)
	}
	for _, line := range lines {
		var e audit.Event
		if json.Unmarshal([]byte(line), &e) == nil && e.JobID == jobID {
			events = append(events, e)
		}
	}
	return events, nil
}
