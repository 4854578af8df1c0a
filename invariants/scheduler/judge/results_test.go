package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// An illegal result comes again without anybody's fault but a strike's; what is judged is how each handling of it ended.
func TestAnIllegalResultIsJudgedByItsHandlings(t *testing.T) {
	const place = "CORDUM_SYS:2"
	says := func(s *story) []string {
		var list []string
		for _, v := range outcomeOf(s.judge(config.Config{}), "illegal-result-is-refused").Violations {
			list = append(list, v.Message)
		}
		return list
	}
	comes := func(s *story, phase string, kind sim.Kind, n uint64) *story {
		s.message(s1, job1, phase, kind, n).last().Seq = 2
		return s
	}
	begin := func() *story {
		return comes(newStory().submit(job1).answersNonsense(w1, job1), "result_deliver", sim.KindDeliver, 1)
	}
	files := func(s *story) *story { return s.dlq(s1, place, "schema_invalid", 0) }
	again := func(s *story) *story {
		return comes(files(comes(s, "result_deliver", sim.KindDeliver, 2)), "result_term", sim.KindTerm, 2)
	}

	assert.Empty(t, says(again(begin())), "a delivery that came to nothing")
	s := begin().add(s1, sim.KindRedis, "multi", history.DlqPrefix+place, job1, "dlq_write").fails()
	assert.Empty(t, says(again(comes(s, "result_nak", sim.KindNak, 1))), "Redis refused the entry")
	s = comes(files(begin()), "result_term", sim.KindTerm, 1)
	s.last().Fault = "lose"
	assert.Empty(t, says(again(s)), "its termination was lost")

	require.Len(t, says(again(comes(begin(), "result_nak", sim.KindNak, 1))), 1)
	assert.Contains(t, says(again(comes(begin(), "result_nak", sim.KindNak, 1)))[0], "was not refused at delivery 1, although it could be")
	s = again(comes(files(begin()), "result_term", sim.KindTerm, 1))
	require.Len(t, says(s), 1)
	assert.Contains(t, says(s)[0], "was refused again at step")
	s = comes(files(begin()), "result_term", sim.KindTerm, 1).add("", sim.KindControl, "kill", sim.NATS, "", "")
	assert.Empty(t, says(again(s)), "nats-server has forgotten that it was terminated")
}
