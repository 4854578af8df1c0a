package servers

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
)

// awayErrors are what the NATS client says of a call while there is no connection.
var awayErrors = []error{nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting, nats.ErrConnectionClosed, nats.ErrDisconnected}

func isAway(err error) bool {
	return slices.ContainsFunc(awayErrors, func(away error) bool { return errors.Is(err, away) })
}

// quietHandler says once in an outage of NATS what fails for want of a connection, and from then on at
// level debug: that it fails again, the lost connection says.
type quietHandler struct {
	slog.Handler
	said *saidAway
}

// saidAway is what was said in the outage that there is.
type saidAway struct {
	mu    sync.Mutex
	lines map[string]bool
}

func newQuietHandler(h slog.Handler) quietHandler {
	return quietHandler{h, &saidAway{lines: map[string]bool{}}}
}

// connectedAgain tells a log that an outage of NATS is over.
func connectedAgain(log *slog.Logger) {
	if h, ok := log.Handler().(quietHandler); ok {
		h.said.mu.Lock()
		defer h.said.mu.Unlock()
		clear(h.said.lines)
	}
}

// firstInOutage says whether a log is told so for the first time in this outage of NATS.
func firstInOutage(log *slog.Logger, line string) bool {
	h, ok := log.Handler().(quietHandler)
	return !ok || !h.said.before(line)
}

// before says whether a line was said before in this outage, and takes it for said.
func (s *saidAway) before(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.lines[line]
	s.lines[line] = true
	return was
}

// again says whether a line was said before in this outage; one that has nothing to do with it never was.
func (s *saidAway) again(r slog.Record) bool {
	line, away := r.Message, false
	r.Attrs(func(a slog.Attr) bool {
		err, is := a.Value.Any().(error)
		switch {
		case is:
			away = away || isAway(err)
		case a.Value.Kind() == slog.KindString:
			line += " " + a.Key + "=" + a.Value.String()
		}
		return true
	})
	if !away {
		return false
	}
	return s.before(line)
}

func (h quietHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug && h.said.again(r) {
		if r.Level = slog.LevelDebug; !h.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs), h.said}
}

func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name), h.said}
}
