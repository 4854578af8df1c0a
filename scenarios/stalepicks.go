package scenarios

import (
	"context"
	"log/slog"
	"time"
)

// stalePicks follows, by job, the picks that met a stale worker: how many there were, how often all of
// a dispatch's did, and for how long a handling held its message over them; and what else no operation
// shows, so that the log is where it does. Nothing is judged by it.
type stalePicks struct {
	last      int // dispatch_attempt of a dispatch's last pick
	byJob     map[string]int
	exhausted map[string]int
	held      map[string]time.Duration
	notes     *[]note              // since the last step
	latest    map[string]time.Time // stale pick of each handling under way in one process
}

func newStalePicks(picks int) *stalePicks {
	return &stalePicks{last: picks - 1, byJob: map[string]int{}, exhausted: map[string]int{}, held: map[string]time.Duration{}, notes: new([]note), latest: map[string]time.Time{}}
}

// process follows the handlings of one scheduler process, and adds to the same sums. They end with it:
// a redelivery that another process dispatches is no part of a handling that a crash cut short.
func (l *stalePicks) process() *stalePicks {
	own := *l
	own.latest = map[string]time.Time{}
	return &own
}

// Enabled takes every record.
func (l *stalePicks) Enabled(context.Context, slog.Level) bool { return true }

// Handle reads one record.
func (l *stalePicks) Handle(_ context.Context, rec slog.Record) error {
	if n, ok := noteOf(rec); ok {
		*l.notes = append(*l.notes, n)
	}
	switch rec.Message {
	case "stale worker detected, retrying dispatch":
		id, attempt := l.read(rec)
		l.byJob[id]++
		if attempt == l.last {
			l.exhausted[id]++
		}
		if attempt > 0 {
			l.hold(id, rec.Time)
		}
		l.latest[id] = rec.Time
	case "job dispatched", "dispatch publish failed":
		id, _ := l.read(rec)
		l.hold(id, rec.Time)
		delete(l.latest, id)
	case "retrying later":
		id, _ := l.read(rec)
		delete(l.latest, id)
	}
	return nil
}

// drain takes out the notes since it was last asked. The step that comes next shows what they are about: of a
// write that was fenced, the look before it, or the EXEC that the server refused.
func (l *stalePicks) drain() (list []note) {
	list, *l.notes = *l.notes, nil
	return list
}

// hold adds the time since the latest stale pick of a job's handling, if it met one.
func (l *stalePicks) hold(id string, until time.Time) {
	if latest, ok := l.latest[id]; ok {
		l.held[id] += until.Sub(latest)
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
