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
	err = q.each(ctx, listBatch, func(_ context.Context, batch []Entry) error {
		entries = append(entries, batch...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// each calls fn with every entry, size of them at once, the oldest first. A batch and what fn does with it have the time of
// one operation.
func (q *Queue) each(ctx context.Context, size int, fn func(ctx context.Context, batch []Entry) error) error {
	for from := 0; ; from += size {
		n, err := q.batch(ctx, from, size, fn)
		if err != nil {
			return fmt.Errorf("list %s: %w", IndexKey, err)
		}
		if n < size {
			return nil
		}
	}
}

func (q *Queue) batch(ctx context.Context, from, size int, fn func(ctx context.Context, batch []Entry) error) (listed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	ids, err := q.Redis.ZRange(ctx, IndexKey, int64(from), int64(from+size-1)).Result()
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	entries, err := q.entries(ctx, ids)
	if err != nil {
		return 0, err
	}
	return len(ids), fn(ctx, entries)
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
