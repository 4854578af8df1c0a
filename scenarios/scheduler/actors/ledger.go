package actors

import "sync"

// Ledger is the external system that executions act on: the place where a duplicate dispatch
// becomes a second mail, ticket or payment. It outlives every node.
type Ledger struct {
	mu   sync.Mutex
	done map[string]int // finished effects, by idempotency key
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{done: map[string]int{}} }

// Record notes one finished effect.
func (l *Ledger) Record(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[key]++
}

// Count is how often the effect of key was had.
func (l *Ledger) Count(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done[key]
}
