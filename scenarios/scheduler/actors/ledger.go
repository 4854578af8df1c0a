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

// Ledger is the external system on which executions act: the place where a duplicate dispatch becomes a
// second mail, ticket or payment. It survives every node.
type Ledger struct {
	mu   sync.Mutex
	done map[string]int // finished effects, by their [EffectKey]
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{done: map[string]int{}} }

// EffectKey identifies an effect to the ledger: an idempotency key belongs to its tenant.
func EffectKey(tenant, idempotencyKey string) string {
	return url.QueryEscape(job.TenantOf(tenant)) + ":" + idempotencyKey
}

// Record records the effect of key. With once, it returns false if the effect is there already.
func (l *Ledger) Record(key string, once bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if once && l.done[key] > 0 {
		return false
	}
	l.done[key]++
	return true
}

// Count is how often the effect of key was recorded.
func (l *Ledger) Count(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done[key]
}

// LedgerName is the ledger's name in the trace.
const LedgerName = "ledger"

// Account is the ledger as a process calls it.
type Account struct {
	Ledger  *Ledger
	Process *sim.Process
}

// Had says whether the effect of the key is recorded.
func (a Account) Had(ctx context.Context, tenant, idempotencyKey string) (bool, error) {
	err := a.Process.Do(ctx, sim.KindCall, "Had", LedgerName, func() error {
		if a.Ledger.Count(EffectKey(tenant, idempotencyKey)) == 0 {
			return redis.Nil // like every answer that something does not exist
		}
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}
