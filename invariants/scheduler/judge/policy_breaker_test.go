package judge

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/sim"
)

func TestAProbeMustBeCountedFirst(t *testing.T) {
	s := newStory()
	probing(s, false, s1)
	assert.Len(t, outcomeOf(s.judge(shared), "no-check-while-circuit-open").Violations, 1)
	assert.Empty(t, outcomeOf(s.judge(guarded), "no-check-while-circuit-open").Violations)
}

// A call that failed is one failure.
func TestAFailureIsCountedAsOne(t *testing.T) {
	s := newStory()
	s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).counts(s1, job1, 3)
	o := outcomeOf(s.judge(guarded), "circuit-opens-on-failures-alone")
	if assert.Len(t, o.Violations, 1) {
		assert.Contains(t, o.Violations[0].Message, "counted 3 failures of the safety circuit at step 4 for one call")
	}

	s = newStory() // the write of one that failed is not made up for by another
	s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).add(s1, sim.KindRedis, "multi", failuresKey, job1, "breaker_write").fails()
	s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).counts(s1, job1, 1)
	assert.Len(t, outcomeOf(s.judge(guarded), "circuit-opens-on-failures-alone").Violations, 1)

	s = newStory() // that write may arrive late, and once
	s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).add(s1, sim.KindRedis, "multi", failuresKey, job1, "breaker_write").fails()
	s.wait(time.Second).counts(s1, job1, 1).late()
	assert.Empty(t, outcomeOf(s.judge(guarded), "circuit-opens-on-failures-alone").Violations)
	s.counts(s1, job1, 2).late()
	assert.Len(t, outcomeOf(s.judge(guarded), "circuit-opens-on-failures-alone").Violations, 1)
}

// failsAt is a call that fails, and is counted as that many.
func (s *story) failsAt(node, job string, counted int) *story {
	return s.readsCounter(node, job).calls(node, job).hears(node, job, 0).counts(node, job, counted)
}

// A circuit is opened by failures in a row, however far apart.
func TestFailuresInARowOpenTheCircuit(t *testing.T) {
	const name = "circuit-opens-on-failures-alone"
	succeeds := func(s *story, more func()) *story {
		s.readsCounter(s2, job1).calls(s2, job1)
		if more != nil {
			more()
		}
		return s.hears(s2, job1, 1)
	}
	for what, c := range map[string]struct {
		between func(s *story) *story // the second failure and the third
		broken  bool
	}{
		"nothing but time":         {func(s *story) *story { return s.wait(time.Hour) }, false},
		"a success":                {func(s *story) *story { return succeeds(s, nil).read(s2, job1) }, true},
		"one that nobody knows of": {func(s *story) *story { return succeeds(s, nil) }, false},
		"one that cannot be told": {func(s *story) *story {
			return succeeds(s, nil).add(s2, sim.KindRedis, "multi", failuresKey, job1, "breaker_write").fails().read(s2, job1)
		}, false},
		"one by a replica's own count": {func(s *story) *story {
			return s.readsCounter(s2, job1).fails().calls(s2, job1).hears(s2, job1, 1).read(s2, job1)
		}, false},
	} {
		s := newStory().failsAt(s1, "job-11", 1).failsAt(s1, "job-12", 2)
		c.between(s)
		o := outcomeOf(s.failsAt(s1, "job-13", 3).judge(guarded), name)
		assert.Equal(t, c.broken, len(o.Violations) > 0, what)
		if c.broken && len(o.Violations) > 0 {
			assert.Contains(t, o.Violations[0].Message, "scheduler-1 opened the safety circuit at step 16, after 1 failure since the last call that had succeeded; it takes 3 in a row", what)
		}
	}
	s := newStory() // a success that began before the failures may have come first
	succeeds(s, func() { s.failsAt(s1, "job-11", 1).failsAt(s1, "job-12", 2) }).read(s2, job1)
	assert.Empty(t, outcomeOf(s.failsAt(s1, "job-13", 3).judge(guarded), name).Violations)
}

// Half-open ends with an answer alone, and failures in a row have no age.
func TestTimeClosesNoCircuit(t *testing.T) {
	const name = "open-circuit-stops-every-replica"
	for what, c := range map[string]struct {
		s      *story
		broken bool
	}{
		"half-open for an hour, and a probe fails": {newStory().trips(s1).wait(time.Hour).failsAt(s1, job1, 1), true},
		"a probe succeeds, and the next one fails": {newStory().trips(s1).wait(time.Hour).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).failsAt(s1, "job-2", 1), true},
		"two succeed, and the next one fails": {newStory().trips(s1).wait(time.Hour).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).
			readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).failsAt(s1, "job-2", 1), false},
		"an hour between two failures":  {newStory().failsAt(s1, "job-11", 1).wait(time.Hour).failsAt(s1, "job-12", 1).wait(time.Hour).failsAt(s1, "job-13", 1), true},
		"one that could not be counted": {newStory().failsAt(s1, "job-11", 1).failsAt(s1, "job-12", 2).fails().failsAt(s1, "job-13", 2), false},
	} {
		c.s.wait(2*time.Second).readsCounter(s2, "job-3").calls(s2, "job-3")
		o := outcomeOf(c.s.judge(guarded), name)
		assert.Equal(t, c.broken, len(o.Violations) > 0, what)
	}
}

// Enough successes close the circuit: those of one replica, or of all.
func TestSuccessesCloseTheCircuit(t *testing.T) {
	for what, c := range map[string]struct {
		cfg      config.Config
		second   string // the replica of the second probe
		closed   bool
		problems int
	}{
		"of one, and it closes":                  {guarded, s1, true, 0},
		"of one":                                 {guarded, s1, false, 1},
		"of two that count apart":                {guarded, s2, false, 0},
		"of two that count together":             {shared, s2, false, 1},
		"of two that count together; it closes ": {shared, s2, true, 0},
	} {
		s := newStory()
		probing(s, c.cfg.Policy.SharedProbes, s1, c.second)
		s.hears(s1, "job-21", 1).hears(c.second, "job-22", 1)
		if c.closed {
			s.counts(c.second, "job-22", 0)
		}
		s.read(s1, "job-21").read(c.second, "job-22").readsCounter(s1, job1)
		o := outcomeOf(s.judge(c.cfg), "half-open-closes-on-successes")
		if assert.Len(t, o.Violations, c.problems, what) && c.problems > 0 {
			assert.Contains(t, o.Violations[0].Message, "scheduler-1 found the safety circuit half-open at step ", what)
			assert.Contains(t, o.Violations[0].Message, "after 2 calls of its window had succeeded; it takes 2 to close it", what)
		}
	}
}

// Who finds the circuit half-open sends a probe, unless another's is out, or it cannot be counted.
func TestAHalfOpenCircuitIsTried(t *testing.T) {
	for what, c := range map[string]struct {
		then   func(*story)
		broken bool
	}{
		"nobody tries":            {func(*story) {}, true},
		"it does":                 {func(s *story) { s.claimsProbe(s1, job1).calls(s1, job1) }, false},
		"another does":            {func(s *story) { s.readsCounter(s2, "job-2").claimsProbe(s2, "job-2") }, false},
		"it cannot be counted":    {func(s *story) { s.claimsProbe(s1, job1).fails() }, false},
		"whoever counts it dies":  {func(s *story) { s.readsCounter(s2, "job-2").claimsProbe(s2, "job-2").unseen().control("crash", s2) }, false},
		"another failure is late": {func(s *story) { s.counts(s2, "job-2", 4).late() }, false},
	} {
		s := newStory().trips(s1).wait(time.Minute).readsCounter(s1, job1)
		c.then(s)
		o := outcomeOf(s.wait(5*time.Second).readsCounter(s1, job1).judge(shared), "closed-circuit-lets-calls-through")
		assert.Equal(t, c.broken, len(o.Violations) > 0, what)
	}
}

// Probes that nobody hears of are forgotten once the time open has gone by without another.
func TestProbesAreForgotten(t *testing.T) {
	for wait, violations := range map[time.Duration]int{29 * time.Second: 1, 31 * time.Second: 0} {
		s := newStory()
		probing(s, true, s1, s1, s2)
		s.wait(wait).readsCounter(s2, job1).claimsProbe(s2, job1).calls(s2, job1)
		assert.Len(t, outcomeOf(s.judge(shared), "half-open-probes-within-limit").Violations, violations, wait)
	}
}

func TestProbesApartAreOutsideThePromise(t *testing.T) {
	s := newStory()
	probing(s, false, s1, s1, s2, s2)
	o := outcomeOf(s.judge(guarded), "half-open-probes-within-limit")
	if assert.Len(t, o.Violations, 1) {
		assert.False(t, o.Violations[0].Promised)
	}
}

func TestReplicasThatShareNothingAreNotStopped(t *testing.T) {
	s := newStory()
	for i := range 3 {
		job := "job-" + strconv.Itoa(11+i)
		s.calls(s1, job).hears(s1, job, 0).read(s1, job)
	}
	s.wait(2*time.Second).calls(s2, job1)
	o := outcomeOf(s.judge(apart), "open-circuit-stops-every-replica")
	if assert.Len(t, o.Violations, 1) {
		assert.False(t, o.Violations[0].Promised)
	}
	s.calls(s1, "job-3")
	alone := outcomeOf(s.judge(apart), "replica-alone-keeps-its-budget")
	if assert.Len(t, alone.Violations, 1) {
		assert.Contains(t, alone.Violations[0].Message, "job-3: scheduler-1 asked the safety kernel")
	}
}

// A replica that cannot read the shared counter counts for itself alone.
func TestAFailureThatNobodyElseCanKnowStopsNobody(t *testing.T) {
	for alone, violations := range map[bool]int{false: 1, true: 0} {
		s := newStory()
		for _, job := range []string{"job-11", "job-12", "job-13"} {
			s.readsCounter(s2, job)
			if alone && job == "job-13" {
				s.fails()
			}
			s.calls(s2, job).hears(s2, job, 0).read(s2, job)
		}
		s.wait(2*time.Second).readsCounter(s1, job1).calls(s1, job1)
		assert.Len(t, outcomeOf(s.judge(guarded), "open-circuit-stops-every-replica").Violations, violations, "alone: %t", alone)
	}
}

// A replica that is paused after its call has failed has told nobody.
func TestAFailureCountsOnceItsReplicaGoesOn(t *testing.T) {
	s := newStory()
	for _, job := range []string{"job-11", "job-12", "job-13"} {
		s.readsCounter(s1, job).calls(s1, job).hears(s1, job, 0)
		if job != "job-12" {
			s.counts(s1, job, 1)
		}
	}
	s.wait(2*time.Second).readsCounter(s2, job1).calls(s2, job1)
	assert.Empty(t, outcomeOf(s.judge(guarded), "open-circuit-stops-every-replica").Violations)
	s.read(s1, "job-12").wait(2*time.Second).readsCounter(s2, job1).calls(s2, job1) // it goes on, and has not counted it
	assert.Len(t, outcomeOf(s.judge(guarded), "open-circuit-stops-every-replica").Violations, 1)
}

func TestBreakersAreToldOf(t *testing.T) {
	s := newStory()
	probing(s, false, s2)
	s.hears(s2, "job-21", 1).counts(s2, "job-21", 0)
	s.readsCounter(s1, job1).fails()
	j := NewJudge(guarded)
	for i := range s.events {
		j.Observe(&s.events[i])
	}
	var told []string
	for _, c := range j.Facts.Policy.Changes {
		told = append(told, fmt.Sprint(c.Node, " ", c.Circuit, " ", c.State, " ", c.Alone))
	}
	assert.Equal(t, []string{
		"scheduler-1 safety closed false", "scheduler-1 safety open false",
		"scheduler-2 safety half-open false", "scheduler-2 safety closed false",
		"scheduler-1 safety half-open true",
	}, told)
}

// Probes are forgotten in the time that the circuit is open for, not sooner and not later.
func TestProbesAreForgottenInTime(t *testing.T) {
	for lasts, broken := range map[time.Duration]bool{time.Second: true, 30 * time.Second: false, time.Minute: true, -1: true} {
		o := outcomeOf(newStory().claimsProbeFor(s1, job1, lasts).judge(shared), "probes-are-forgotten-in-time")
		assert.Equal(t, broken, len(o.Violations) > 0, lasts)
	}
}
