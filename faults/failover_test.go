package faults_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// What was written within the lag is lost, and its writer goes on as if it were there.
func TestFailoverOfRedis(t *testing.T) {
	var answers []int64
	in, events := world(t, []faults.Fault{
		{At: 10*time.Second + 500*time.Millisecond, Do: faults.Failover, Node: faults.Redis, Lag: 3 * time.Second},
		{After: &faults.Match{Phase: "count_write", Occurrence: 15}, Do: faults.Failover, Node: faults.Redis, Lag: time.Millisecond},
	}, func(w *sim.World, in *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			for range 18 {
				p.Clock().Sleep(time.Second)
				n, err := p.Redis().Incr(tagged(p.Context(), "", "count_write"), "count").Result()
				assert.NoError(t, err)
				answers = append(answers, n)
			}
		}).Start()
		w.Step(time.Minute, nil)
		assert.True(t, in.Quiet())
		assert.NoError(t, w.CheckTruth())
	})
	assert.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 8, 9, 10, 11, 12, 12, 13, 14}, answers)
	require.Len(t, in.Fired(), 2)
	assert.Empty(t, in.Unfired())
	var lost []string
	for _, e := range events {
		if e.Kind == sim.KindControl {
			assert.Equal(t, "failover redis", e.Name+" "+e.Target)
			require.Len(t, e.Changes, 1)
			lost = append(lost, e.Changes[0].Key+"="+e.Changes[0].Value)
		}
	}
	assert.Equal(t, []string{"count=7", "count=11"}, lost)
}

// Until a failover is over, nobody reaches Redis; and what a replica was waited for is not lost by it.
func TestFailoverOfRedisTakesTime(t *testing.T) {
	var failed []time.Duration
	var left string
	in, _ := world(t, []faults.Fault{
		{At: 10*time.Second + 500*time.Millisecond, Do: faults.Failover, Node: faults.Redis, Lag: 3 * time.Second, For: 2 * time.Second},
	}, func(w *sim.World, in *faults.Injector) {
		in.Users = []string{"n"}
		w.Node("n", func(p *sim.Process) {
			for i := range 15 {
				p.Clock().Sleep(time.Second)
				_, err := p.Redis().Pipelined(p.Context(), func(q redis.Pipeliner) error {
					q.Incr(p.Context(), "count")
					if i == 8 { // at 9s
						q.Do(p.Context(), "wait", 1, 100)
					}
					return nil
				})
				if err != nil {
					failed = append(failed, p.Clock().Now().Sub(w.Started()).Truncate(time.Second))
				}
			}
		}).Start()
		w.Step(10600*time.Millisecond, nil)
		left = w.Redis()["count"][""]
		w.Step(time.Minute, nil)
		assert.True(t, in.Quiet())
		assert.NoError(t, w.CheckTruth())
	})
	assert.Equal(t, "9", left, "the write at 10s is lost, and no other")
	assert.Equal(t, []time.Duration{11 * time.Second, 12 * time.Second}, failed)
	assert.Equal(t, 2*time.Second, in.Fired()[0].Until-in.Fired()[0].At)
}
