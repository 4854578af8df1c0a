package actors

import (
	"context"
	"errors"
	"net/url"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/sim"
)

// Ledger is the external system that executions act on: the place where a duplicate dispatch
// becomes a second mail, ticket or payment. It outlives every node.
type Ledger struct {
	mu   sync.Mutex
	done map[string]int // finished effects, by what [EffectKey] returns
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{done: map[string]int{}} }

// EffectKey is what the sink knows an effect by: an idempotency key is one of its tenant.
func EffectKey(tenant, idempotencyKey string) string {
	return url.QueryEscape(job.TenantOf(tenant)) + ":" + idempotencyKey
}

// Record has the effect of key, unless it is to be had once and was: then it says false.
func (l *Ledger) Record(key string, once bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if once && l.done[key] > 0 {
		return false
	}
	l.done[key]++
	return true
}

// Count is how often the effect of key was had.
func (l *Ledger) Count(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done[key]
}

// LedgerName is what the ledger goes by in the trace.
const LedgerName = "ledger"

// Account is the ledger as a process asks it, which takes a call.
type Account struct {
	Ledger  *Ledger
	Process *sim.Process
}

// Had says whether what the key stands for has been done.
func (a Account) Had(ctx context.Context, tenant, idempotencyKey string) (bool, error) {
	err := a.Process.Do(ctx, sim.KindCall, "Had", LedgerName, func() error {
		if a.Ledger.Count(EffectKey(tenant, idempotencyKey)) == 0 {
			return redis.Nil // as every answer that there is none
		}
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}
