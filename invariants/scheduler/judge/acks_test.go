package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/sim"
)

// A result of an older epoch is acknowledged and ignored; one of the record's epoch is not.
func TestAStaleResultMayBeAcknowledged(t *testing.T) {
	acked := func(epoch int) []invariants.Violation {
		s := newStory().submit(job1).begins(s1, job1).minted(s1, job1, w1, 2).answers(w1, job1, epoch)
		s.message(s2, job1, "result_deliver", sim.KindDeliver, 1).of(2).ack(s2, job1, "result_ack").of(2)
		return outcomeOf(s.judge(hardened), "acked-only-when-durable").Violations
	}
	assert.Empty(t, acked(1))
	assert.Len(t, acked(2), 1)
}

func TestACancellationIsAckedWhenTheJobIsOver(t *testing.T) {
	s := newStory().submit(job1).cancels(job1).ack(s1, job1, "cancel_ack")
	o := outcomeOf(s.judge(hardened), "acked-only-when-durable")
	require.Len(t, o.Violations, 1)
	assert.Contains(t, o.Violations[0].Message, "acknowledged the cancellation")
	s = newStory().submit(job1).cancels(job1).cancelled(s1, job1).unlock(s1, job1).ack(s1, job1, "cancel_ack")
	assert.Empty(t, outcomeOf(s.judge(hardened), "acked-only-when-durable").Violations)
}
