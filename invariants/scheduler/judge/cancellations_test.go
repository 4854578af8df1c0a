package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// A scheduler that has a cancellation in hand when the job's record appears may be about to find it. It has no such excuse
// if it has done nothing by the job's end.
func TestWhoHasACancellationInHand(t *testing.T) {
	runs := func(s *story) { s.dispatched(s2, job1, w1).executed(w1, job1).completed(s2, job1, "SUCCEEDED") }
	answers := func(s *story) { s.message(s1, job1, "cancel_nak", sim.KindNak, 1).last().Seq = 1 }
	for name, c := range map[string]struct {
		before, after func(*story) // what comes before the record, and after it
		broken        bool
	}{
		"it failed before":            {before: answers, after: runs, broken: true},
		"it is slow to the end":       {after: runs, broken: true},
		"it is paused to the end":     {before: func(s *story) { s.control("pause", s1) }, after: runs, broken: true},
		"the request is handled then": {after: func(s *story) { answers(s); runs(s) }},
		"it cancels the job":          {after: func(s *story) { s.cancelled(s1, job1) }},
	} {
		s := newStory().cancels(job1).message(s1, job1, "cancel_deliver", sim.KindDeliver, 1)
		s.last().Seq = 1
		if c.before != nil {
			c.before(s)
		}
		c.after(s.submit(job1))
		o := outcomeOf(s.judge(config.Config{KeepCancellations: true}), "cancellation-takes-effect")
		assert.Equal(t, c.broken, len(o.Violations) == 1, name)
		for _, v := range o.Violations {
			assert.True(t, v.Promised, name)
			assert.Contains(t, v.Message, "job-1: scheduler-2 wrote SUCCEEDED", name)
		}
	}
}

// A cancellation that is sent back comes again after its delay, and one that is not answered after AckWait.
func TestHowLongACancellationMayWait(t *testing.T) {
	for answer, broken := range map[string]bool{"cancel_nak": true, "": false} {
		s := newStory().submit(job1).dispatched(s1, job1, w1).cancels(job1)
		for n := range uint64(10) {
			s.message(s1, job1, "cancel_deliver", sim.KindDeliver, n+1)
			if answer != "" {
				s.message(s1, job1, answer, sim.KindNak, n+1)
			}
			s.wait(time.Minute)
		}
		s.executed(w1, job1).completed(s2, job1, "SUCCEEDED")
		assert.Equal(t, broken, len(outcomeOf(s.judge(hardened), "cancellation-takes-effect").Violations) > 0, answer)
	}
}

// A worker that is told has a second, and the time for which it is away itself. What befalls others is no excuse.
func TestAWorkerStopsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*story)
		broken    bool
	}{
		"at once": {meanwhile: func(*story) {}},
		"later":   {meanwhile: func(s *story) { s.wait(2 * time.Second) }, broken: true},
		"paused":  {meanwhile: func(s *story) { s.control("pause", w1).wait(time.Minute).control("resume", w1) }},
		"cut off": {meanwhile: func(s *story) { s.control("partition nats", w1).wait(time.Minute) }},
		"paused twice at once": {meanwhile: func(s *story) {
			s.control("pause", w1).wait(time.Minute).control("pause", w1).control("resume", w1).wait(time.Minute).control("resume", w1)
		}},
		"paused, and later":              {meanwhile: func(s *story) { s.control("pause", w1).wait(time.Minute).control("resume", w1).wait(2 * time.Second) }, broken: true},
		"another worker is paused":       {meanwhile: func(s *story) { s.control("pause", w2).wait(time.Minute).control("resume", w2) }, broken: true},
		"a scheduler is paused":          {meanwhile: func(s *story) { s.control("pause", s1).wait(time.Minute).control("resume", s1) }, broken: true},
		"it had been paused long before": {meanwhile: func(s *story) { s.wait(time.Minute) }, broken: true},
	} {
		s := newStory().submit(job1).control("pause", w1).wait(time.Hour).control("resume", w1).dispatched(s1, job1, w1).effect(w1, job1, "begin")
		s.cancels(job1).cancelled(s2, job1).tells(s2, job1, w1)
		seq := s.last().Changes[0].Seq
		c.meanwhile(s.message(w1, job1, "notice_deliver", sim.KindDeliver, 1).of(seq))
		cfg := hardened
		cfg.Outages = time.Hour
		assert.Equal(t, c.broken, outcomeOf(s.effect(w1, job1, "finish").judge(cfg), "told-worker-stops").Promised == 1, name)
	}
}

// Whoever asks for a cancellation, the scheduler is not the one.
func TestWhoAsksForACancellation(t *testing.T) {
	keeps := func(s *story, node string) {
		key := history.RecordPrefix + job1
		s.add(node, sim.KindRedis, "multi", key, job1, "cancel_keep", s.set(key, "cancel", ""))
	}
	for name, c := range map[string]struct {
		ask   func(*story)
		asked bool
	}{
		"nobody":                     {ask: func(*story) {}},
		"a client, of the scheduler": {ask: func(s *story) { s.cancels(job1) }, asked: true},
		"a client, in the record":    {ask: func(s *story) { keeps(s, "canceller") }, asked: true},
		"the scheduler itself":       {ask: func(s *story) { keeps(s, s1) }},
		"a worker":                   {ask: func(s *story) { s.result(w1, job1).last().Changes[0].Value = `{"status":"CANCELLED"}` }, asked: true},
		"a worker, that it failed":   {ask: func(s *story) { s.result(w1, job1).last().Changes[0].Value = `{"status":"FAILED"}` }},
	} {
		s := newStory().submit(job1).dispatched(s1, job1, w1)
		c.ask(s)
		o := outcomeOf(s.cancelled(s2, job1).judge(hardened), "cancelled-only-when-asked")
		assert.Equal(t, 1, o.Exercised, name)
		assert.Equal(t, !c.asked, o.Promised == 1, name)
	}
}

// A worker takes up a notice of its own epoch, or of a later one.
func TestWhatAWorkerIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		tell func(*story)
		says string // "" if nothing is broken
	}{
		"of its epoch":         {tell: func(s *story) { s.tellsOf(s2, job1, w1, 2) }},
		"of a later one":       {tell: func(s *story) { s.tellsOf(s2, job1, w1, 3) }},
		"of an older one":      {tell: func(s *story) { s.tellsOf(s2, job1, w1, 1) }, says: "job-1: was cancelled at step 24, but worker-1, which had epoch 2 of it, was told of epoch 1 only"},
		"again, of its epoch":  {tell: func(s *story) { s.tellsOf(s2, job1, w1, 1).tellsOf(s2, job1, w1, 2) }},
		"something unreadable": {tell: func(s *story) { s.tellsOf(s2, job1, w1, 2).last().Changes[0].Value = "not json" }, says: "but worker-1, which had it, was never told"},
		"of another job":       {tell: func(s *story) { s.tellsOf(s2, job1, w1, 2).last().Changes[0].Value = `{"job_id":"job-2","epoch":2}` }, says: "but worker-1, which had it, was never told"},
	} {
		s := newStory().submit(job1).dispatchedAt(s1, job1, w1, 1).begins(s1, job1).minted(s1, job1, w1, 2).publishes(s1, job1, w1, 2).unlock(s1, job1)
		c.tell(s.cancels(job1).cancelled(s2, job1))
		o := outcomeOf(s.judge(hardened), "cancelled-job-is-told")
		if assertSays(t, o.Violations, c.says, name) {
			assert.True(t, o.Violations[0].Promised, name)
		}
	}
}

// A cancellation may lose against what ends the job meanwhile, for as long as it may have to wait itself.
func TestACancellationOfARunningJob(t *testing.T) {
	wait := cancellationWait(&config.Config{JobLockTTL: time.Minute, RetryDelayBusy: time.Second, PublishTimeout: 5 * time.Second, StoreOpTimeout: time.Second})
	assert.Equal(t, time.Minute+time.Second+5*time.Second+4*time.Second, wait)
	wait = cancellationWait(new(config.Config{KeepCancellations: true}.WithDefaults()))
	runs := func(s *story) *story { return s.submit(job1).dispatched(s2, job1, w1) }
	for name, c := range map[string]struct {
		story *story
		says  string // "" if nothing is broken
	}{
		"it ends otherwise at once": {story: runs(newStory()).cancels(job1).wait(wait/2).executed(w1, job1).completed(s2, job1, "SUCCEEDED")},
		"it ends otherwise in the end": {
			story: runs(newStory()).cancels(job1).wait(wait).executed(w1, job1).completed(s2, job1, "SUCCEEDED"),
			says:  "wrote SUCCEEDED at step 20, although a cancellation of the job had been stored more than 1m13.5s before",
		},
		"it goes on":                {story: runs(newStory()).cancels(job1).wait(wait).effect(w1, job1, "begin"), says: "is still RUNNING, although a cancellation of it has been stored for more than 1m13.5s"},
		"it was cancelled too late": {story: runs(newStory()).executed(w1, job1).completed(s2, job1, "SUCCEEDED").cancels(job1).wait(wait).tells(s2, job1, w1)},
		"it is cancelled late":      {story: runs(newStory()).cancels(job1).wait(wait).cancelled(s2, job1).unlock(s2, job1)},
	} {
		o := outcomeOf(c.story.judge(config.Config{KeepCancellations: true}), "cancellation-takes-effect")
		assertSays(t, o.Violations, c.says, name)
	}
}
