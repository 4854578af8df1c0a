package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/registry"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// showVersion is the format of what show --json prints.
const showVersion = 1

type showFlags struct {
	servers.Flags
	json bool
}

func newShow() *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Show a job: where it is, since when, and why",
		Long: `Show prints what Redis holds of a job: its state, its attempts and its worker, what
the safety kernel has decided, its dead letter, and how its replays ended. If the job
waits, show says what for, as far as Redis knows; the log of a scheduler says why it has
sent a job back. If a worker has the job, show says when the schedulers last heard of
that worker.

Exit codes: 0 shown, 2 usage, no such job, or a Redis that does not answer, 3 a Redis
lost midway.`,
		Example: `  scheduler show mail-17
  scheduler show mail-17 --json | jq -r .job.state`,
		Args: cli.OneArg("the job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	f.AddReader(cmd)
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// shown is what there is to say of a job.
type shown struct {
	Version int         `json:"version"`
	Job     shownJob    `json:"job"`
	Letter  *dlq.Entry  `json:"dead_letter,omitempty"`
	Replays []ending    `json:"replays,omitempty"`      // the first first
	Known   []knownMate `json:"workers,omitempty"`      // of a job that waits for one: whom the schedulers know
	Heard   *heard      `json:"worker_heard,omitempty"` // of a job that a worker has
}

// shownJob is a job's record.
type shownJob struct {
	ending
	Topic       string            `json:"topic"`
	Tenant      string            `json:"tenant,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	SubmittedAt time.Time         `json:"submitted_at"`
	Since       time.Time         `json:"since"` // of its last change
	DeadlineAt  *time.Time        `json:"deadline_at,omitempty"`
	Epoch       int64             `json:"epoch,omitempty"`
	Decision    string            `json:"decision,omitempty"`
	Snapshot    string            `json:"policy_snapshot,omitempty"`
	Constraints map[string]string `json:"constraints,omitempty"`
	ApprovedAt  *time.Time        `json:"approved_at,omitempty"`
	ApprovedBy  string            `json:"approved_by,omitempty"`
	ResultPtr   string            `json:"result_ptr,omitempty"`
	ReplayOf    string            `json:"replay_of,omitempty"`
}

// knownMate is a worker that the schedulers know.
type knownMate struct {
	Worker   string    `json:"worker_id"`
	Pool     string    `json:"pool"`
	Active   int       `json:"active_jobs"`
	Most     int       `json:"max_parallel_jobs"`
	Stopping bool      `json:"stopping,omitempty"`
	Heard    time.Time `json:"heard"`
}

// heard is what the schedulers knew of the worker that has a job.
type heard struct {
	Last *time.Time `json:"last,omitempty"` // its last heartbeat; nil was engine.worker_ttl ago, or longer
	AsOf time.Time  `json:"as_of"`          // they knew it then
}

func (f *showFlags) run(ctx context.Context, id string, stdout io.Writer) error {
	c := job.Cancel{JobID: id}
	if err := c.Validate(); err != nil {
		return cli.Fail(cli.ExitUsage, "show: %v", err)
	}
	ctx, client, stop, err := f.ReachRedis(ctx)
	if err != nil {
		return err
	}
	defer stop()
	s, err := readJob(ctx, client, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return cli.Fail(cli.ExitUsage, "Redis at %s holds no job %q", servers.Public(f.RedisURL), id)
	case err != nil:
		return servers.Lost(ctx, err, "try again")
	case f.json:
		return cli.PrintJSON(stdout, s)
	}
	printJob(cli.NewPrinter(stdout), s, time.Now())
	return nil
}

// readJob reads all that Redis holds of a job. One without a record is store.ErrNotFound.
func readJob(ctx context.Context, client *redis.Client, id string) (*shown, error) {
	records := store.Store{Redis: client, Clock: clockwork.NewRealClock(), Timeout: settings.Hardened().StoreOpTimeout}
	rec, err := records.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	req, _ := rec.Request() // its labels may be missing
	s := &shown{Version: showVersion, Job: shownJob{
		ending: endingOf(&rec), Topic: rec.Topic, Tenant: rec.Tenant, Labels: req.Labels, SubmittedAt: rec.CreatedAt.UTC(), Since: rec.UpdatedAt.UTC(),
		DeadlineAt: instantOf(rec.DeadlineAt), Epoch: rec.Epoch, Decision: rec.Decided.Decision, Snapshot: rec.Decided.Snapshot,
		Constraints: rec.Decided.Constraints, ApprovedAt: instantOf(rec.Grant.At), ApprovedBy: rec.Grant.By, ResultPtr: rec.ResultPtr,
		ReplayOf: req.Labels[job.LabelReplayOf],
	}}
	letters := deadLetters(client)
	if s.Letter, err = letterOf(ctx, letters, id); err != nil {
		return nil, err
	}
	replay := s.Letter
	for seen := map[string]bool{id: true}; replay != nil && replay.ReplayJob != "" && !seen[replay.ReplayJob]; {
		next := replay.ReplayJob
		seen[next] = true
		r, err := records.Read(ctx, next)
		switch {
		case errors.Is(err, store.ErrNotFound):
			s.Replays = append(s.Replays, ending{Job: next})
		case err != nil:
			return nil, err
		default:
			s.Replays = append(s.Replays, endingOf(&r))
		}
		if replay, err = letterOf(ctx, letters, next); err != nil {
			return nil, err
		}
	}
	switch rec.State {
	case job.Scheduled:
		snapshot, err := readSnapshot(ctx, client)
		s.Known = knownMates(&snapshot)
		return s, err
	case job.Dispatched, job.Running:
		snapshot, err := readSnapshot(ctx, client)
		s.Heard = heardOf(&snapshot, &rec)
		return s, err
	}
	return s, nil
}

// heardOf is nil where the snapshot cannot say: a worker that it does not name may be newer than it.
func heardOf(s *registry.Snapshot, r *store.Record) *heard {
	h := &heard{AsOf: time.UnixMilli(s.WrittenAt).UTC()}
	for _, w := range s.Workers {
		if w.Heartbeat.WorkerID == r.Worker {
			h.Last = instantOf(time.UnixMilli(w.LastSeen))
			return h
		}
	}
	if r.Worker == "" || h.AsOf.Sub(r.UpdatedAt) <= settings.Hardened().WorkerTTL {
		return nil
	}
	return h
}

// endingOf is what a record says of how its job goes.
func endingOf(r *store.Record) ending {
	e := ending{Job: r.JobID, State: r.State, Attempts: r.Attempts, Worker: r.Worker, ReasonCode: r.ReasonCode, Reason: r.Reason}
	if r.State == job.ApprovalRequired {
		e.ReasonCode, e.Reason = "", r.Decided.Asks
	}
	return e
}

// instantOf is nil for never.
func instantOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// letterOf returns a job's dead letter, or nil.
func letterOf(ctx context.Context, q *dlq.Queue, id string) (*dlq.Entry, error) {
	e, err := q.Get(ctx, id)
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &e, nil
}

// readSnapshot returns what the schedulers know of the workers. Without a snapshot that is nothing.
func readSnapshot(ctx context.Context, client *redis.Client) (snapshot registry.Snapshot, err error) {
	ctx, cancel := context.WithTimeout(ctx, servers.AnswerWithin)
	defer cancel()
	snapshot, err = registry.Read(ctx, client)
	if errors.Is(err, redis.Nil) || errors.Is(err, registry.ErrUnreadable) { // schedulers take that for none, too
		err = nil
	}
	return snapshot, err
}

// knownMates are the workers that a snapshot names.
func knownMates(snapshot *registry.Snapshot) (known []knownMate) {
	for _, w := range snapshot.Workers {
		h := w.Heartbeat
		known = append(known, knownMate{h.WorkerID, h.Pool, h.ActiveJobs, h.MaxParallelJobs, h.Stopping, time.UnixMilli(w.LastSeen).UTC()})
	}
	return known
}
