package campaign

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheStackOfAPanicIsTheSameOnEveryMachine(t *testing.T) {
	said := `panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47b6ea]

goroutine 35 [running, synctest bubble 1]:
github.com/wavetank-sim/wavetank/engine/store.(*Store).Write(0xc000123, {0x1, 0x2}, ...)
	/home/someone/wavetank/engine/store/store.go:104 +0x1d
github.com/redis/go-redis/v9.(*Client).Process(...)
	/root/go/pkg/mod/github.com/redis/go-redis/v9@v9.21.0/redis.go:1 +0x2
runtime.gopanic({0x1, 0x2})
	/usr/local/go/src/runtime/panic.go:783 +0x1
created by github.com/wavetank-sim/wavetank/sim.(*Node).Start in goroutine 12
	/home/someone/wavetank/sim/node.go:71 +0xaa

goroutine 12 [chan receive (durable), synctest bubble 1]:
main.other()
	/x.go:1 +0x1
exit status 2
`
	assert.Equal(t, `panic: runtime error: invalid memory address or nil pointer dereference
  engine/store.(*Store).Write store.go:104
  github.com/redis/go-redis/v9.(*Client).Process redis.go:1
  sim.(*Node).Start node.go:71`, stackOfPanic(said))

	assert.Equal(t, "panic: (*engine.Engine) 0x?", stackOfPanic("panic: (*engine.Engine) 0xc000123450\n"))
	assert.Empty(t, stackOfPanic("FATAL could not read the configuration\n"))
	assert.LessOrEqual(t, len(stackOfPanic("panic: "+strings.Repeat("x", 1<<20))), messageBytesMax)
}

func TestTheErrorOfAWorldThatBrokeOff(t *testing.T) {
	err := errors.New("sim: panic: index out of range [3] with length 3\ngoroutine 9 [running, synctest bubble 2]:\nruntime/debug.Stack()\n\t/usr/x/stack.go:26 +0x5e\n" +
		"github.com/wavetank-sim/wavetank/invariants.(*Judge).Observe(0xc1)\n\t/home/x/invariants/observe.go:44 +0x1\n")
	assert.Equal(t, "sim: panic: index out of range [3] with length 3\n  invariants.(*Judge).Observe observe.go:44", stackOfError(err))
	assert.Equal(t, "sim: nats-server did not start", stackOfError(errors.New("sim: nats-server did not start")))
}

// A process may say a lot before it panics.
func TestTheBeginningOfAPanicIsKept(t *testing.T) {
	var c capture
	for range 10_000 {
		_, _ = c.Write([]byte("a line of a log that nobody reads, and which is long enough to fill what is kept\n"))
	}
	assert.Len(t, c.String(), captureBytesMax)
	_, _ = c.Write([]byte("pan"))
	_, _ = c.Write([]byte("ic: at last\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:3 +0x1\n"))
	assert.Equal(t, "panic: at last\n  main.main main.go:3", stackOfPanic(c.String()))
	for range 10_000 {
		_, _ = c.Write([]byte("panic: no more of it, and this line, too, is long enough to fill what is kept of it\n"))
	}
	assert.True(t, strings.HasPrefix(c.String(), "panic: at last\n\ngoroutine 1"))
	assert.LessOrEqual(t, len(c.String()), captureBytesMax)
}

func TestCommonCallsOfALoop(t *testing.T) {
	outer, loop := frame{function: "engine.outer"}, frame{function: "engine.loop"}
	got := common([]frame{{function: "engine.a"}, loop, outer}, []frame{{function: "engine.b"}, {function: "engine.c"}, loop, outer})
	assert.Equal(t, []frame{loop, outer}, got)
}
