package servers

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
