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
