package power

import (
	"context"
	"sync"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// digests are those of the runs of searches. All mutants are compared with the same ones, so each run is made once.
type digests struct {
	mu   sync.Mutex
	list map[string][]string // by search, of its first runs
}

// of returns the digests of n runs of the search, from first on, its first one.
func (d *digests) of(ctx context.Context, worker []string, s Search, first, n int) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.list == nil {
		d.list = map[string][]string{}
	}
	list := d.list[s.Name]
	err := runs(ctx, worker, s.Spec, first+len(list), first+n, func(r *campaign.Record) bool {
		list = append(list, r.Digest)
		return false
	})
	d.list[s.Name] = list
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return list[:n], nil
}

// runs has one worker do runs of the spec in their order, from first to the one before end, until one is the last or ctx
// ends. Nothing is examined: that would take the worker's time.
func runs(ctx context.Context, command []string, spec campaign.Spec, first, end int, last func(*campaign.Record) bool) error {
	if first >= end {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	job := campaign.Job{Spec: spec, Timeout: campaign.RunTimeout, MemoryMax: campaign.MemoryMax}
	in, next, over := make(chan campaign.Chunk, 1), first, false
	return job.Do(ctx, campaign.Options{Workers: 1, Command: command}, campaign.Chunks{
		In: in,
		Want: func() {
			if next < end {
				in <- campaign.Chunk{First: next, Count: 1}
				next++
			}
		},
		Tick: func() {},
		Done: func(c campaign.Chunk, done []campaign.Record) {
			if over { // what was under way may end before it hears of that
				return
			}
			if over = last(&done[0]) || c.First == end-1; over {
				stop()
			}
		},
	})
}
