package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// A message is answered within AckWait of the last strike, if somebody is up who can.
func TestNoMessageIsLeft(t *testing.T) {
	const long = 20 * time.Minute
	starts := func() *story {
		s := newStory()
		for _, node := range []string{s1, s2, w1} {
			s.add(node, sim.KindStart, "", "", "", "")
		}
		return s.submit(job1).dispatched(s1, job1, w1)
	}
	given := func() *story { return starts().message(w1, job1, "job_deliver", sim.KindDeliver, 1).of(1) }
	answered := func() *story { // the result is message 2
		s := given().executed(w1, job1)
		s.message(w1, job1, "job_ack", sim.KindAck, 1).of(1)
		return s
	}
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"nobody reads the result":         {answered().wait(long), "nobody has answered message 2 of CORDUM_SYS/scheduler-result, stored 20m0s ago, after 0 deliveries"},
		"it was stored a short while ago": {answered().wait(10 * time.Minute), ""},
		"somebody has it":                 {answered().message(s1, job1, "result_deliver", sim.KindDeliver, 1).wait(long), "after 1 delivery"},
		"it is sent back":                 {answered().wait(long).message(s1, job1, "result_deliver", sim.KindDeliver, 1).message(s1, job1, "result_nak", sim.KindNak, 1), ""},
		"a delivery of it was lost":       {answered().wait(long).message(s1, job1, "result_deliver", sim.KindDeliver, 1).lost(), ""},
		"its ack was lost":                {answered().wait(long).completed(s1, job1, "SUCCEEDED").lost(), ""},
		"its scheduler has crashed":       {answered().wait(long).message(s1, job1, "result_deliver", sim.KindDeliver, 1).control("crash", s1), ""},
		"something was struck":            {answered().wait(long).busy(s1, job2).fails().injected(), ""},
		"a strike has ended":              {answered().control("pause", s1).wait(long).control("resume", s1), ""},
		"no scheduler is up":              {answered().control("crash", s1).control("crash", s2).wait(long), ""},
		"NATS is away":                    {answered().control("stop", sim.NATS).wait(long), ""},
		"it is handled":                   {answered().completed(s1, job1, "SUCCEEDED").wait(long), ""},

		"its worker does nothing":     {given().wait(long), "worker-1 has not answered the dispatch (seq 1, stored at step 10, 20m0s ago)"},
		"its worker is down":          {given().control("crash", w1).wait(long), ""},
		"its worker came back":        {given().wait(long).control("crash", w1).control("restart", w1), ""},
		"its worker is at it":         {given().effect(w1, job1, "begin").wait(long), ""},
		"its worker was at another":   {given().wait(long).effect(w1, job2, "begin").effect(w1, job2, "fail"), ""},
		"its worker waits for a slot": {given().wait(long).message(w1, job1, "job_progress", sim.KindProgress, 1).of(1), ""},
		"another worker is there":     {starts().control("crash", w1).beat(w2, s1).wait(long), ""},
	} {
		found := outcomeOf(c.s.judge(config.Config{}), "no-message-given-up").Violations
		if c.says == "" {
			assert.Empty(t, found, name)
		} else if assert.NotEmpty(t, found, name) {
			assert.Contains(t, found[0].Message, c.says, name)
			require.True(t, found[0].Promised, name)
		}
	}
}

// A message that is sent back after its last delivery is counted as given up, whether its nak arrives or not.
func TestMessagesGivenUpAreCounted(t *testing.T) {
	for want, s := range map[float64]*story{
		0: newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).message(s1, job1, "submit_nak", sim.KindNak, 1),
		1: newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 100).message(s1, job1, "submit_nak", sim.KindNak, 100).lost(),
	} {
		for _, got := range []float64{0, 1} {
			found := outcomeOf(s.counted(map[string]float64{history.CounterReceived: 1, history.CounterGivenUp + `{consumer="scheduler-submit"}`: got}).judge(config.Config{}), "counters-equal-trace").Violations
			if got == want {
				assert.Empty(t, found)
			} else if assert.Len(t, found, 1) {
				assert.Contains(t, found[0].Message, "messages whose last delivery was sent back")
			}
		}
	}
}
