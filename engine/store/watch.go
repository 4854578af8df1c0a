package store

import (
	"errors"
	"time"
)

// Watch hears how long a state read or write took, and whether Redis failed it.
type Watch func(write bool, took time.Duration, failed bool)

// watched is to be called when an operation ends. What the record itself refuses is no failure of Redis.
func (s *Store) watched(write bool) func(err error) {
	if s.Watch == nil {
		return func(error) {}
	}
	start := s.Clock.Now()
	return func(err error) {
		refused := errors.Is(err, ErrFenced) || errors.Is(err, ErrTenantFull)
		s.Watch(write, s.Clock.Since(start), err != nil && !refused)
	}
}
