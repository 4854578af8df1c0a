package outage_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/outage"
)

func TestSays(t *testing.T) {
	var said strings.Builder
	clock := clockwork.NewFakeClock()
	o := outage.Log{Logger: slog.New(slog.NewTextHandler(&said, nil)), Clock: clock, Fails: "not sent", Over: "sent"}
	away := errors.New("not connected")
	for _, err := range []error{nil, away, away, nil, nil, away} {
		o.Says(err)
		clock.Advance(time.Second)
	}
	assert.Regexp(t, `^time=\S+ level=WARN msg="not sent" error="not connected"\n`+
		`time=\S+ level=INFO msg=sent after=2s\n`+
		`time=\S+ level=WARN msg="not sent" error="not connected"\n$`, said.String())
}
