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
