package plans

import (
	"fmt"
	"time"
)

// Instant is a time in whole seconds of UTC, such as 2026-01-01T00:00:00Z. A date alone is its midnight.
type Instant string

// A world may begin between these times: not before a bubble's own clock (package testing/synctest), and so
// that its whole time fits into an int64 of nanoseconds since 1970.
var (
	firstInstant = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	lastInstant  = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// UnmarshalText implements [encoding.TextUnmarshaler]. Its error says what is wrong with the text.
func (i *Instant) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		at, err = time.Parse(time.DateOnly, string(text))
	}
	switch at = at.UTC(); {
	case err != nil, !at.Equal(at.Truncate(time.Second)):
		return fmt.Errorf("not an instant in whole seconds")
	case at.Before(firstInstant), at.After(lastInstant):
		return fmt.Errorf("not between %s and %s", firstInstant.Format(time.DateOnly), lastInstant.Format(time.DateOnly))
	}
	*i = Instant(at.Format(time.RFC3339))
	return nil
}

// MarshalText implements [encoding.TextMarshaler].
func (i Instant) MarshalText() ([]byte, error) { return []byte(i), nil }

// Time returns the time of an instant that UnmarshalText accepted.
func (i Instant) Time() time.Time {
	at, _ := time.Parse(time.RFC3339, string(i))
	return at
}
