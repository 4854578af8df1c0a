package judge

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// traffic is the calm life of many jobs, with the steps in between that change nothing.
func traffic(jobs int) *story {
	s := newStory().beat(w1, s1, s2)
	for n := 1; n <= jobs; n++ {
		job := "job-" + strconv.Itoa(n)
		s.submit(job).message(s1, job, "submit_deliver", sim.KindDeliver, 1).dispatched(s1, job, w1)
		s.message(w1, job, "job_deliver", sim.KindDeliver, 1).executed(w1, job).message(w1, job, "job_ack", sim.KindAck, 1)
		s.completed(s2, job, "SUCCEEDED")
		for range 8 {
			s.add(s1, sim.KindFetch, "", "CORDUM_SYS/scheduler-submit", "", "")
			s.add(w1, sim.KindTimer, "sleep", "", "", "")
		}
		if n%100 == 0 {
			s.beat(w1, s1, s2)
		}
	}
	return s
}

// A step costs the same in a run of a hundred jobs and in one of ten thousand.
func BenchmarkObserve(b *testing.B) {
	for _, jobs := range []int{100, 10_000} {
		b.Run(strconv.Itoa(jobs), func(b *testing.B) {
			events := traffic(jobs).events
			b.ReportAllocs()
			b.ResetTimer()
			judge := NewJudge(config.Config{})
			for i := range b.N {
				if i%len(events) == 0 {
					judge = NewJudge(config.Config{})
				}
				judge.Observe(&events[i%len(events)])
			}
		})
	}
}

func BenchmarkFinish(b *testing.B) {
	s := traffic(10_000)
	for b.Loop() {
		b.StopTimer()
		judge := NewJudge(config.Config{})
		for i := range s.events {
			judge.Observe(&s.events[i])
		}
		b.StartTimer()
		judge.Finish(s.end())
	}
}

// What a step that changes nothing costs is time, not memory.
func TestObserveAllocatesNothingWithoutChanges(t *testing.T) {
	s := traffic(10)
	judge := NewJudge(config.Config{})
	for i := range s.events {
		judge.Observe(&s.events[i])
	}
	var quiet []sim.Event
	for _, e := range s.events {
		if len(e.Changes) == 0 && e.Kind != history.KindEffect && e.Kind != sim.KindDeliver { // a second would be a violation
			quiet = append(quiet, e)
		}
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range quiet {
			judge.Observe(&quiet[i])
		}
	}))
}

// Long runs of one job leave nothing behind but what stands.
func TestHandlingsDoNotAccumulate(t *testing.T) {
	s := newStory().submit(job1)
	for range 40 {
		s.begins(s1, job1).unlock(s1, job1).wait(time.Second)
	}
	judge := NewJudge(config.Config{})
	for i := range s.events {
		judge.Observe(&s.events[i])
	}
	assert.Empty(t, judge.Facts.Jobs[job1].Handlings)
}
