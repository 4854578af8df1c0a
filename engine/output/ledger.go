package output

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
)

// scansKey is a sorted set: the jobs whose outputs are still to be scanned, by when somebody else than who
// began it is to take the scan up, in unix ms.
const scansKey = "cordum:output:scans"

// recordKey is the key of a job's output safety record: a hash of what was found, by the part that found it.
func recordKey(jobID string) string { return "output:" + jobID }

// Parts of the output policy, as the record and the metrics name them.
const (
	Sync  = "sync"  // the check of the metadata
	Async = "async" // the scan of the content
)

// Finding is what one part found.
type Finding struct {
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason,omitempty"` // in words; of Skipped, the error
	Ptr      string   `json:"ptr,omitempty"`    // the output that it is about
	At       int64    `json:"at"`               // unix ms; the ledger sets it
}

// Ledger keeps output safety records, and which scans are open. All fields are required. It is safe for
// concurrent use.
type Ledger struct {
	Redis   redis.UniversalClient
	Clock   clockwork.Clock
	Timeout time.Duration // of one operation: storeOpTimeout of Scheduler internals
	TTL     time.Duration // of a record
	Durable bool          // open scans are kept
}

// Put adds a finding to the MULTI of what follows from it. That of a scan ends the scan.
func (l *Ledger) Put(ctx context.Context, p redis.Pipeliner, jobID, part string, f Finding) error {
	f.At = l.Clock.Now().UnixMilli()
	body, err := json.Marshal(f)
	if err != nil {
		return err
	}
	p.HSet(ctx, recordKey(jobID), part, body)
	p.Expire(ctx, recordKey(jobID), l.TTL)
	if part == Async && l.Durable {
		p.ZRem(ctx, scansKey, jobID)
	}
	return nil
}

// Open adds to the MULTI of SUCCEEDED that the output is still to be scanned, and by when that is to be
// done. A ledger that is not durable leaves it to memory.
func (l *Ledger) Open(ctx context.Context, p redis.Pipeliner, jobID string, within time.Duration) {
	if l.Durable {
		p.ZAdd(ctx, scansKey, redis.Z{Score: l.in(within), Member: jobID})
	}
}

// Close notes what a scan found, with no state write; what also adds goes with it, and may be nil.
func (l *Ledger) Close(ctx context.Context, jobID string, f Finding, also func(context.Context, redis.Pipeliner) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	_, err := l.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		if also != nil {
			if err := also(ctx, p); err != nil {
				return err
			}
		}
		return l.Put(ctx, p, jobID, Async, f)
	})
	if err != nil {
		return fmt.Errorf("output record of %s: %w", jobID, err)
	}
	return nil
}

// Drop forgets a scan that is not to be done any more.
func (l *Ledger) Drop(ctx context.Context, jobID string) error {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	if err := l.Redis.ZRem(ctx, scansKey, jobID).Err(); err != nil {
		return fmt.Errorf("drop %s from %s: %w", jobID, scansKey, err)
	}
	return nil
}

// Due lists the jobs whose scans are overdue, at most limit of them, and leaves these to the caller for so
// long.
func (l *Ledger) Due(ctx context.Context, limit int, within time.Duration) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	ids, err := l.Redis.ZRangeByScore(ctx, scansKey, &redis.ZRangeBy{
		Min: "-inf", Max: strconv.FormatFloat(l.in(0), 'f', -1, 64), Count: int64(limit),
	}).Result()
	if err == nil && len(ids) > 0 {
		due := make([]redis.Z, len(ids))
		for i, id := range ids {
			due[i] = redis.Z{Score: l.in(within), Member: id}
		}
		err = l.Redis.ZAddXX(ctx, scansKey, due...).Err()
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", scansKey, err)
	}
	return ids, nil
}

func (l *Ledger) in(d time.Duration) float64 { return float64(l.Clock.Now().Add(d).UnixMilli()) }
