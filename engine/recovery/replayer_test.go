package recovery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/store"
)

func newReplayer(t *testing.T) (h *harness, r *recovery.Replayer, replayed *[]string) {
	h = newHarness(t)
	replayed = new([]string)
	return h, &recovery.Replayer{
		Store: h.store, Lock: h.lock(phase.ReplayLock), Clock: h.clock, Logger: slog.New(slog.DiscardHandler),
		Waits:     []recovery.Wait{{State: job.Pending, Age: 2 * time.Minute}, {State: job.ApprovalRequired, Age: 2 * time.Minute}},
		BatchSize: 3, MaxIterations: 100,
		Granted: func(_ context.Context, rec *store.Record) (bool, error) {
			req, err := rec.Request()
			return err == nil && req.Labels["approval_granted"] == "true", err
		},
		Replay: func(_ context.Context, rec *store.Record) error {
			*replayed = append(*replayed, rec.JobID)
			if rec.State == job.Pending {
				h.move(rec.JobID, job.Pending, job.Scheduled)
			}
			return nil
		},
	}, replayed
}

func TestAnIdleReplayIsCheap(t *testing.T) {
	h, r, _ := newReplayer(t)
	r.Lock.Keep = lock.UntilExpiry
	h.ticks(1, r.Run)
	assert.Equal(t, []string{"replay_lock set", "replay_read multi"}, h.calls)
}

// Scheduler internals, section 3, pending replayer.
func TestWhatWaitsForTooLongIsReplayed(t *testing.T) {
	h, r, replayed := newReplayer(t)
	h.job("p-old", job.Pending, "job.default", 2*time.Minute, "{}")
	h.job("p-young", job.Pending, "job.default", 2*time.Minute-1e6, "{}")
	h.job("a-granted", job.ApprovalRequired, "job.default", time.Hour, `{"labels":{"approval_granted":"true"}}`)
	h.job("a-waits", job.ApprovalRequired, "job.default", time.Hour, `{"labels":{"approval_granted":"false"}}`)
	h.job("a-odd", job.ApprovalRequired, "job.default", time.Hour, "{")
	h.job("s-old", job.Scheduled, "job.default", time.Hour, "{}")
	h.ticks(1, r.Run)
	assert.Equal(t, []string{"p-old", "a-granted"}, *replayed)
}

// Two indexes may name a job that is in one state only: the record has the last word.
func TestAnIndexThatIsBehindItsRecord(t *testing.T) {
	h, r, replayed := newReplayer(t)
	h.job("job-1", job.Pending, "job.default", time.Hour, "{}")
	h.job("job-1", job.Running, "job.default", time.Hour, "{}")
	h.ticks(1, r.Run)
	assert.Empty(t, *replayed)
}

// Those that wait rightly for their approval must not keep out for ever one that has it.
func TestAnApprovedJobIsReachedPastThoseThatWait(t *testing.T) {
	h, r, replayed := newReplayer(t)
	r.MaxIterations = 2
	for i := range 20 {
		h.job(fmt.Sprintf("a-%02d", i), job.ApprovalRequired, "job.default", time.Hour-time.Duration(i)*time.Second, "{}")
	}
	h.job("granted", job.ApprovalRequired, "job.default", 30*time.Minute, `{"labels":{"approval_granted":"true"}}`)
	h.job("p-0", job.Pending, "job.default", time.Hour, "{}")
	h.ticks(1, r.Run)
	assert.Equal(t, []string{"p-0"}, *replayed)
	h.job("p-1", job.Pending, "job.default", time.Hour, "{}")
	h.ticks(4, r.Run)
	assert.Equal(t, []string{"p-0", "p-1", "granted"}, *replayed)
}

// A replica that is cut off fails at every orphan; one that no worker can take fails on any replica.
func TestAReplayThatFailsLeavesTheNextToOthers(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		kept bool
	}{
		"busy":                {fmt.Errorf("x: %w", lock.ErrBusy), true},
		"for its own reasons": {fmt.Errorf("%w: no workers", recovery.ErrOwn), true},
		"cut off":             {errors.New("no NATS"), false},
	} {
		h, r, replayed := newReplayer(t)
		r.Lock.Keep = lock.Renewed
		for i := range 4 {
			h.job(fmt.Sprint("p-", i), job.Pending, "job.default", time.Hour, "{}")
		}
		r.Replay = func(_ context.Context, rec *store.Record) error {
			*replayed = append(*replayed, rec.JobID)
			return c.err
		}
		h.ticks(1, r.Run)
		assert.Equal(t, c.kept, len(*replayed) == 4, name)
		h.pass(poll)
		h.calls = nil
		h.ticks(1, r.Run)
		assert.Equal(t, c.kept, len(h.calls) > 0, name)
	}
}

// A job is taken up once a tick, whatever comes of it, and none stands in another's way.
func TestAReplayPassesOverWhatStays(t *testing.T) {
	h, r, replayed := newReplayer(t)
	for i := range 10 {
		h.job(fmt.Sprintf("p-%d", i), job.Pending, "job.default", time.Hour-time.Duration(i)*time.Second, "{}")
		h.job(fmt.Sprintf("a-%d", i), job.ApprovalRequired, "job.default", time.Hour, `{}`)
	}
	moves := r.Replay
	r.Replay = func(ctx context.Context, rec *store.Record) error {
		switch rec.JobID {
		case "p-0", "p-4":
			*replayed = append(*replayed, rec.JobID)
			return errors.New("no workers")
		case "p-1", "p-9":
			*replayed = append(*replayed, rec.JobID)
			return nil // it says that it is done, and has not moved
		}
		return moves(ctx, rec)
	}
	h.ticks(1, r.Run)
	assert.Equal(t, []string{"p-0", "p-1", "p-2", "p-3", "p-4", "p-5", "p-6", "p-7", "p-8", "p-9"}, *replayed)
}

// A record that cannot be read keeps its job out of every tick, and nobody else would say so.
func TestARecordThatCannotBeReadIsLogged(t *testing.T) {
	h, r, replayed := newReplayer(t)
	var log bytes.Buffer
	r.Logger = slog.New(slog.NewTextHandler(&log, nil))
	for i := range 5 { // two batches
		h.job(fmt.Sprintf("job-%d", i), job.Pending, "job.default", time.Hour, "{}")
		if i != 2 {
			h.redis.HSet(fmt.Sprintf("job:job-%d", i), "attempts", "many")
		}
	}
	h.ticks(1, r.Run)
	assert.Equal(t, []string{"job-2"}, *replayed)
	assert.Equal(t, 1, strings.Count(log.String(), "\n"), "once a tick")
	assert.Contains(t, log.String(), `level=ERROR msg="jobs left alone: their records cannot be read" jobs=4 first="job:job-0: attempts: `)
}
