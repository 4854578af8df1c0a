package judge

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/sim"
)

// hangs is the end of the last operation, after so long: its caller gives up.
func (s *story) hangs(lasted time.Duration) *story { return s.unseen().hung(lasted) }

// hung is that end where others have taken steps meanwhile.
func (s *story) hung(lasted time.Duration) *story {
	is := s.events[slices.IndexFunc(s.events, func(e sim.Event) bool { return e.Outcome == sim.OutcomePending })]
	s.wait(lasted).add(is.Node, sim.KindReturn, cmp.Or(is.Name, string(is.Kind)), is.Target, is.Job, is.Phase)
	s.last().Outcome = context.DeadlineExceeded.Error()
	return s
}

// An operation that hangs is given up when the settings say, unless its process stood still.
func TestAHangingOperationIsGivenUp(t *testing.T) {
	calls := func(phase string) *story {
		return newStory().wait(time.Minute).add(s1, sim.KindCall, "Check", "kernel", job1, phase)
	}
	reads := func(node string) *story { return newStory().wait(time.Minute).read(node, job1) }
	for name, c := range map[string]struct {
		story  *story
		broken bool
	}{
		"a read":                         {reads(s1).hangs(2 * time.Second), false},
		"a read, too long":               {reads(s1).hangs(4 * time.Second), true},
		"a client's":                     {reads("submitter").hangs(4 * time.Second), false},
		"a read, with what came before":  {reads(s1).hangs(100 * time.Millisecond), false},
		"a read that is not given up":    {reads(s1).unseen().wait(time.Minute), true},
		"a read, as its process crashes": {reads(s1).unseen().control("crash", s1).wait(time.Minute), false},
		"a read, in a pause":             {reads(s1).unseen().stalls(s1).hung(4 * time.Second), false},
		"a publish":                      {newStory().publishFails(s1, job1, w1).hangs(5 * time.Second), false},
		"a publish, too long":            {newStory().publishFails(s1, job1, w1).hangs(20 * time.Second), true},
		"a call":                         {calls("safety_check").hangs(2 * time.Second), false},
		"a call, too long":               {calls("safety_check").hangs(4 * time.Second), true},
		"a check, too long":              {calls("output_check").hangs(30 * time.Second), true},
		"a scan":                         {calls("output_scan").hangs(30 * time.Second), false},
		"a scan, too short":              {calls("output_scan").hangs(2 * time.Second), true},
		"a scan that nobody wants":       {calls("output_scan").hangs(2 * time.Second).fails(), false},
		"a scan that set out late":       {newStory().wait(time.Minute).stalls(s1).add(s1, sim.KindCall, "Check", "kernel", job1, "output_scan").hangs(2 * time.Second), false},
		"a start's":                      {newStory().wait(time.Minute).add(s1, sim.KindRedis, "get", "sys:workers:snapshot", "", "snapshot_read").hangs(5 * time.Second), false},
	} {
		o := outcomeOf(c.story.judge(guarded), "hanging-operation-is-given-up")
		assert.Equal(t, c.broken, len(o.Violations) > 0, name)
	}
}
