package servers

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOutage(t *testing.T) {
	var said strings.Builder
	o := Outage{Log: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{ReplaceAttr: plainError})), Fails: "not sent", Over: "sent"}
	away := fmt.Errorf("publish: %w", nats.ErrReconnectBufExceeded)
	for _, err := range []error{nil, away, away, nil, nil, away} {
		o.Says(err)
	}
	assert.Regexp(t, `^time=\S+ level=WARN msg="not sent" error="publish: not connected"\n`+
		`time=\S+ level=INFO msg=sent after=\S+\n`+
		`time=\S+ level=WARN msg="not sent" error="publish: not connected"\n$`, said.String())
}

// What fails for want of a connection to NATS is said once in an outage, of each that it fails for.
func TestAnOutageIsQuiet(t *testing.T) {
	var said strings.Builder
	base, err := (&LogFlags{format: "text", level: "info"}).Logger(&said)
	require.NoError(t, err)
	log := base.With("scheduler", "scheduler-1")
	fails := func(consumer string, err error) { log.Warn("pull failed", "consumer", consumer, "error", err) }
	fails("a", nats.ErrReconnectBufExceeded)
	fails("a", nats.ErrConnectionReconnecting)
	fails("b", nats.ErrReconnectBufExceeded)
	fails("a", nats.ErrTimeout)
	fails("a", nats.ErrTimeout)
	connectedAgain(base)
	fails("a", nats.ErrReconnectBufExceeded)
	var lines []string
	for line := range strings.Lines(said.String()) {
		_, line, _ = strings.Cut(line, "consumer=")
		lines = append(lines, line)
	}
	assert.Equal(t, []string{
		"a error=\"not connected\"\n", "b error=\"not connected\"\n", "a error=\"nats: timeout\"\n", "a error=\"nats: timeout\"\n", "a error=\"not connected\"\n",
	}, lines)
}
