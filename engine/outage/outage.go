// Package outage logs that a call fails which is made again and again: one line when that begins, and one when it
// ends.
package outage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// Log is told by whoever makes the call. Several goroutines may.
type Log struct {
	Logger *slog.Logger
	Clock  clockwork.Clock
	Fails  string // what is said when it begins, such as "heartbeat not sent; trying again"
	Over   string // and when it has ended

	mu    sync.Mutex
	since time.Time // of the first failure; zero while there is none
}

// Says takes in how a call ended, with what else there is to say of it. Nil is well.
func (o *Log) Says(err error, more ...slog.Attr) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ctx := context.Background()
	switch {
	case err == nil && o.since.IsZero():
	case err == nil:
		o.Logger.LogAttrs(ctx, slog.LevelInfo, o.Over, append(more, slog.Duration("after", o.Clock.Since(o.since).Round(time.Millisecond)))...)
		o.since = time.Time{}
	default:
		level := slog.LevelDebug // nothing new
		if o.since.IsZero() {
			o.since, level = o.Clock.Now(), slog.LevelWarn
		}
		o.Logger.LogAttrs(ctx, level, o.Fails, append(more, slog.Any("error", err))...)
	}
}
