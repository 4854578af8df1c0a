package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// How long nobody knows of a job that is DISPATCHED to nobody: for the dispatch timeout and then at
// most one poll, where every poll ticks. The documented lock of a tick lets it be more; the topic's own
// timeout makes it less; where intents are resumed it is a matter of the next delivery.
func TestBlindWindow(t *testing.T) {
	const poll = 30 * time.Second
	for name, c := range map[string]struct {
		sets    []string
		by      string
		timeout time.Duration
		late    time.Duration // at most
	}{
		"documented":                     {nil, "TIMEOUT", 5 * time.Minute, 3 * poll},
		"a lock for its holder's ticks":  {[]string{"engine.tick_lock=renewed"}, "TIMEOUT", 5 * time.Minute, poll},
		"a timeout of the topic":         {[]string{"engine.tick_lock=renewed", "engine.topic_timeouts=job.default=30s"}, "TIMEOUT", 30 * time.Second, poll},
		"a timeout of another topic":     {[]string{"engine.tick_lock=renewed", "engine.topic_timeouts=job.other=30s"}, "TIMEOUT", 5 * time.Minute, poll},
		"shorter polls":                  {[]string{"engine.tick_lock=renewed", "engine.poll_interval=5s"}, "TIMEOUT", 5 * time.Minute, 5 * time.Second},
		"a handling that is resumed":     {[]string{"preset=" + plans.PresetHardened}, "dispatch", 0, 2 * time.Second},
		"a client that submits it again": {[]string{"preset=" + plans.PresetHardened, "workload.submissions=2"}, "dispatch", 0, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plans.Load("rollback-failure")
			require.NoError(t, err)
			for _, set := range c.sets {
				require.NoError(t, p.Set(set))
			}
			res, err := Run(context.Background(), p, RunOptions{Source: p.Name, Modified: len(c.sets) > 0})
			require.NoError(t, err)
			require.Equal(t, Held, res.Verdict, "%s", told(res))
			w := res.Jobs[2].Blind
			require.NotNil(t, w)
			assert.Equal(t, c.by, w.By)
			assert.Equal(t, c.timeout, w.Timeout)
			lasted := w.Closed - w.Opened
			assert.Greater(t, lasted, c.timeout)
			assert.LessOrEqual(t, lasted, c.timeout+c.late)
			if c.timeout > 0 {
				assert.InDelta(t, lasted-c.timeout, w.Late, float64(50*time.Millisecond))
			}
		})
	}
}

// A worker that is dead and inside its TTL receives a dispatch (WEAKNESSES 10): its job waits for the running
// timeout, of which no other setting takes anything, or with watch_workers for that of its dispatch.
func TestBlindWindowOfADeadWorkersJob(t *testing.T) {
	const poll = 30 * time.Second
	for name, c := range map[string]struct {
		sets    []string
		which   string
		timeout time.Duration
		late    time.Duration // at most
	}{
		"documented":              {nil, "running", 30 * time.Minute, 3 * poll},
		"a timeout of the topic":  {[]string{"engine.topic_timeouts=job.default=30s"}, "running", 30 * time.Minute, 3 * poll},
		"hardened":                {[]string{"preset=" + plans.PresetHardened, "engine.count_dispatches=false"}, "silence", 5 * time.Minute, poll},
		"hardened, for the topic": {[]string{"preset=" + plans.PresetHardened, "engine.count_dispatches=false", "engine.topic_timeouts=job.default=1m"}, "silence", time.Minute, poll},
		"without watch_workers":   {[]string{"preset=" + plans.PresetHardened, "engine.count_dispatches=false", "engine.watch_workers=false"}, "running", 30 * time.Minute, poll},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plans.Load("stale-worker")
			require.NoError(t, err)
			for _, set := range c.sets {
				require.NoError(t, p.Set(set))
			}
			res, err := Run(context.Background(), p, RunOptions{Source: p.Name, Modified: true})
			require.NoError(t, err)
			require.Equal(t, Held, res.Verdict, "%s", told(res))
			for _, n := range []int{4, 5, 6, 7} {
				w := res.Jobs[n-1].Blind
				require.NotNil(t, w)
				assert.Equal(t, c.which, w.Which)
				assert.Equal(t, c.timeout, w.Timeout)
				assert.LessOrEqual(t, w.Late, c.late)
				assert.LessOrEqual(t, w.Closed-w.Opened, c.timeout+c.late)
			}
		})
	}
}
