package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// garbled is a request that nobody can read, of a node.
func garbled(s *story, node string) {
	c := s.store(history.StreamSys, history.SubjectSubmit, job1)
	c.Value = ""
	s.streams[len(s.streams)-1] = c
	s.add(node, sim.KindPublish, "", history.SubjectSubmit, job1, "submit_publish", c)
}

func TestWhatClientsAreToStore(t *testing.T) {
	calm := func() *story { return newStory().submit(job1) }
	for name, c := range map[string]struct {
		s    *story
		cfg  config.Config
		says string // "" if it holds
	}{
		"a job":                       {calm(), config.Config{Jobs: 1}, ""},
		"a job too few":               {calm(), config.Config{Jobs: 2}, "clients could store 1 of 2 jobs"},
		"a cancellation":              {calm().cancels(job1), config.Config{Cancels: 1}, ""},
		"a job twice cancelled":       {calm().cancels(job1).cancels(job1), config.Config{Cancels: 2}, "clients could store 1 of 2 cancellations"},
		"a run":                       {newStory().run("starter", "run_create", twoSteps(1, pendingStep, pendingStep)), config.Config{Runs: 1}, ""},
		"a run that nobody may start": {calm(), config.Config{Runs: 1}, "clients could store 0 of 1 workflow runs"},
	} {
		o := outcomeOf(c.s.judge(c.cfg), "workload-is-submitted")
		assert.Positive(t, o.Exercised, name)
		if c.says == "" {
			assert.Empty(t, o.Violations, name)
		} else if assert.Len(t, o.Violations, 1, name) {
			assert.Equal(t, c.says, o.Violations[0].Message, name)
		}
	}
}
