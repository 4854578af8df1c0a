package judge

import (
	"testing"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// An answer that fails is sent again soon, unless something keeps its process from that, or nothing is left to answer.
func TestAFailedAnswerIsSentAgain(t *testing.T) {
	given := func() *story { // at step 4 to a scheduler
		return newStory().add(s1, sim.KindStart, "", "", "", "").submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1)
	}
	answers := func(s *story, phase string, kind sim.Kind) *story {
		delivery := s.events[3]
		s.message(s1, job1, phase, kind, 1).last().Answers = delivery.Step
		return s
	}
	acks := func(s *story) *story { return answers(s, "submit_ack", sim.KindAck) }
	naks := func(s *story) *story { return answers(s, "submit_nak", sim.KindNak) }
	terms := func(s *story) *story { return answers(s, "submit_term", sim.KindTerm) }
	returns := func(s *story) *story { return s.add(s1, sim.KindReturn, sim.NameDoubleAck, "", job1, "submit_ack") }
	gets := func(s *story, target string) *story { return s.add(s1, sim.KindAPI, "GetMsg", target, "", "") }
	const never = "has failed, and was not sent again within 7s"
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"it arrives":                  {acks(given()), ""},
		"an ack fails":                {acks(given()).fails(), "the ack that scheduler-1 sent at step 5 " + never},
		"a nak fails":                 {naks(given()).fails(), "the nak that scheduler-1 sent at step 5 " + never},
		"a term fails":                {terms(given()).fails(), "the term that scheduler-1 sent at step 5 " + never},
		"a nak is lost":               {naks(given()).lost(), ""},
		"it waits for the server":     {acks(given()).unseen(), ""},
		"that has taken it":           {returns(acks(given()).unseen()), ""},
		"that says nothing":           {returns(acks(given()).unseen().wait(5 * time.Second)).fails(), "step 5 " + never},
		"it is sent again":            {acks(acks(given()).fails().wait(6 * time.Second)), ""},
		"it was known to be answered": {acks(acks(given()).fails().wait(6 * time.Second)).outcome("nats: message was already acknowledged"), ""},
		"it fails again":              {acks(acks(given()).fails().wait(6 * time.Second)).fails(), "the ack that scheduler-1 sent at step 6 " + never},
		"it is sent again late":       {acks(acks(given()).fails().wait(8 * time.Second)), "step 5 " + never},
		"the message is gone":         {gets(acks(given()).fails(), history.StreamSys+"/1").outcome("nats: API error: code=404 err_code=10037 description=message not found"), ""},
		"another message is gone":     {gets(acks(given()).fails(), history.StreamSys+"/11").outcome("nats: API error: code=404 err_code=10037 description=message not found"), never},
		"its process crashes":         {acks(given()).fails().control("crash", s1), ""},
		"and comes back":              {acks(given()).fails().control("crash", s1).control("restart", s1), ""},
		"its process is away":         {acks(given()).fails().control("pause", s1).wait(time.Minute), ""},
		"and goes on late":            {acks(acks(given()).fails().control("pause", s1).wait(time.Minute).control("resume", s1).wait(6 * time.Second)), ""},
		"it is cut off":               {acks(given()).fails().control("partition nats", s1), ""},
		"nats-server is away":         {acks(given()).fails().control("stop", sim.NATS), ""},
		"it comes back":               {acks(given()).fails().control("stop", sim.NATS).control("start", sim.NATS).wait(2*time.Minute).beat(w1, s1), never},
		"it has lost messages":        {acks(given()).fails().control("power-loss", sim.NATS).control("start", sim.NATS).wait(2 * time.Minute), ""},
		"AckWait is over":             {acks(given().wait(10*time.Minute - time.Second)).fails(), ""},
		"the handling was long":       {acks(given().wait(9 * time.Minute)).fails(), never},
	} {
		found := outcomeOf(c.s.wait(8*time.Second).beat(w1, s1).judge(config.Config{ConfirmAcks: true}), "unconfirmed-ack-is-sent-again").Violations
		assertSays(t, found, c.says, name)
	}
}
