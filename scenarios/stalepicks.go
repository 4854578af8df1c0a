package scenarios

import (
	"context"
	"log/slog"
	"time"
)

// stalePicks follows, by job, the picks that met a stale worker: how many there were, how often all of
// a dispatch's did, and for how long a handling held its message over them. A pick is no operation, so
// the log is where it shows; nothing is judged by it.
type stalePicks struct {
	last      int // dispatch_attempt of a dispatch's last pick
	byJob     map[string]int
	exhausted map[string]int
	held      map[string]time.Duration
	spans     map[string]span // handlings under way that met a stale worker
}

// span is the time from a handling's first stale pick to its latest.
type span struct{ first, latest time.Time }

func newStalePicks(picks int) *stalePicks {
	return &stalePicks{last: picks - 1, byJob: map[string]int{}, exhausted: map[string]int{}, held: map[string]time.Duration{}, spans: map[string]span{}}
}

// Enabled takes every record.
func (l *stalePicks) Enabled(context.Context, slog.Level) bool { return true }

// Handle reads one record.
func (l *stalePicks) Handle(_ context.Context, rec slog.Record) error {
	switch rec.Message {
	case "stale worker detected, retrying dispatch":
		id, attempt := l.read(rec)
		l.byJob[id]++
		if attempt == l.last {
			l.exhausted[id]++
		}
		s := l.spans[id]
		if s.latest = rec.Time; attempt == 0 {
			s.first = rec.Time
		}
		l.spans[id] = s
	case "job dispatched", "dispatch publish failed":
		id, _ := l.read(rec)
		l.close(id, rec.Time)
	case "retrying later":
		id, _ := l.read(rec)
		l.close(id, l.spans[id].latest)
	}
	return nil
}

// close ends the span of a job's handling, if it has one.
func (l *stalePicks) close(id string, at time.Time) {
	if s, ok := l.spans[id]; ok {
		l.held[id] += at.Sub(s.first)
		delete(l.spans, id)
	}
}

// read finds the job of a record, and which pick it is about.
func (l *stalePicks) read(rec slog.Record) (id string, attempt int) {
	attempt = -1
	rec.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "job_id":
			id = a.Value.String()
		case "dispatch_attempt":
			attempt = int(a.Value.Int64())
		}
		return true
	})
	return id, attempt
}

// WithAttrs leaves the attributes of a scheduler away: none is about a pick.
func (l *stalePicks) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup does nothing: the engine has no groups.
func (l *stalePicks) WithGroup(string) slog.Handler { return l }
