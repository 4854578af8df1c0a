package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

type submitFlags struct {
	servers.Flags
	jobs     int
	id       string
	prefix   string
	topic    string
	payload  string
	labels   map[string]string
	tenant   string
	requires []string
	deadline time.Duration
	every    time.Duration
	wait     bool
	timeout  time.Duration
	json     bool

	fresh bool // the prefix is made up: no job of it exists
}

func newSubmit() *cobra.Command {
	var f submitFlags
	cmd := &cobra.Command{
		Use:   "submit",
		Short: "Submit jobs to a scheduler, and wait for them",
		Long: `Submit gives jobs to ` + "`scheduler serve`" + `: it stores each job as PENDING
and publishes its request. With --wait, it waits until all jobs have ended, and says how
they ended. It then exits 0 if all succeeded, 1 if one did not, 3 if --timeout came
first, and names the command that shows more about a job that still waits.

A job that is submitted twice under one id is one job. If submit was cut short, give the
same ids again; it says which jobs exist already. If a job exists already with another
request, submit refuses it and all other jobs of the command, with exit code 2. The
request consists of everything that is given of a job, such as --payload.
Other exit codes: 2 usage, a request that is too large for NATS, or a server that
does not answer at the start or is the wrong one, such as a replica,
3 a server lost before all were submitted, or one that takes no writes for now,
130 interrupted.`,
		Example: `  scheduler submit
  scheduler submit --jobs 1000 --wait
  scheduler submit --id mail-17 --payload '{"to": "you"}' --deadline 1m --wait
  scheduler submit --jobs 10 --every 1s --topic job.gpu --json | jq -r '.jobs[].job_id'`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), cmd.Flags().Changed)
		},
	}
	f.AddClient(cmd)
	cmd.Flags().IntVarP(&f.jobs, "jobs", "n", 1, "how many jobs, `N`")
	cmd.Flags().StringVar(&f.id, "id", "", "the id of a single job, `JOB`")
	cmd.Flags().StringVar(&f.prefix, "id-prefix", "", "the jobs are called `PREFIX`1, PREFIX2 and so on (default a new prefix)")
	cmd.Flags().StringVar(&f.topic, "topic", routing.DefaultTopic, "the jobs' `TOPIC`")
	cmd.Flags().StringVar(&f.payload, "payload", "", "what the worker is given with each job, `JSON`")
	cmd.Flags().StringToStringVar(&f.labels, "label", nil, "a label of each job, `KEY=VALUE`, such as preferred_worker_id=worker-1; repeatable")
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "the jobs' tenant, `NAME`")
	cmd.Flags().StringSliceVar(&f.requires, "requires", nil, "what a pool must offer to get the jobs, `CAPABILITY`; repeatable")
	cmd.Flags().DurationVar(&f.deadline, "deadline", 0, "how long after its submission a job has its deadline, `DURATION`; if it has not ended by then, the reconciler times it out at its next tick, every engine.poll_interval, 30s unless set (default never)")
	cmd.Flags().DurationVar(&f.every, "every", 0, "the time between two submissions, `DURATION`")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until all jobs have ended")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "with --wait, wait at most so long, `DURATION` (default for ever)")
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

// submitJobsMax bounds what one command submits.
const submitJobsMax = 1_000_000

func (f *submitFlags) check(given func(flag string) bool) error {
	f.OrEmbedded()
	if err := f.CheckURLs(); err != nil {
		return err
	}
	switch {
	case f.jobs < 1 || f.jobs > submitJobsMax:
		return cli.Fail(cli.ExitUsage, "--jobs is %d, out of range; give 1 to %d", f.jobs, submitJobsMax)
	case f.id == "" && given("id"):
		return cli.Fail(cli.ExitUsage, "--id is empty; name the job, or leave --id out for a new name")
	case f.prefix == "" && given("id-prefix"):
		return cli.Fail(cli.ExitUsage, "--id-prefix is empty; give a prefix, or leave --id-prefix out for a new one")
	case f.id != "" && (given("jobs") && f.jobs > 1 || f.prefix != ""):
		return cli.Fail(cli.ExitUsage, "--id names a single job; name several with --id-prefix")
	case given("payload") && !json.Valid([]byte(f.payload)):
		return cli.Fail(cli.ExitUsage, "--payload is %.40q, which is not JSON; a text needs quotes of its own: '\"text\"'", f.payload)
	case f.every < 0:
		return cli.Fail(cli.ExitUsage, "--every is %v, out of range; give a duration of 0s or more", f.every)
	case f.timeout < 0:
		return cli.Fail(cli.ExitUsage, "--timeout is %v, out of range; give a duration of 0s or more", f.timeout)
	case f.timeout > 0 && !f.wait:
		return cli.Fail(cli.ExitUsage, "--timeout limits --wait, which is not given; give both")
	case given("deadline") && f.deadline < time.Millisecond:
		return cli.Fail(cli.ExitUsage, "--deadline is %v, out of range; give a duration of 1ms or more, or leave --deadline out", f.deadline)
	}
	if f.id == "" && f.prefix == "" {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		f.prefix, f.fresh = "job-"+hex.EncodeToString(b[:])+"-", true
	}
	last := f.request(f.jobs)
	if err := last.Validate(); err != nil {
		return cli.Fail(cli.ExitUsage, "submit: %v", err)
	}
	return nil
}

func (f *submitFlags) jobID(n int) string {
	if f.id != "" {
		return f.id
	}
	return fmt.Sprintf("%s%d", f.prefix, n)
}

// request is the n-th, from 1.
func (f *submitFlags) request(n int) job.Request {
	r := job.Request{JobID: f.jobID(n), Topic: f.topic, Labels: f.labels, Tenant: f.tenant, Requires: f.requires, Payload: json.RawMessage(f.payload)}
	if f.deadline > 0 {
		r.Budget = &job.Budget{DeadlineMS: f.deadline.Milliseconds()}
	}
	return r
}

func (f *submitFlags) run(ctx context.Context, stdout, stderr io.Writer, given func(flag string) bool) error {
	if err := f.check(given); err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(ctx, func() {})
	defer stop()
	c, err := f.Connect(ctx, "scheduler submit", servers.Writes)
	if err != nil {
		return err
	}
	defer c.Close()
	show := cli.NewProgress(stderr, f.json)
	before, submitted, err := f.submit(ctx, c, show)
	show.Done()
	if err != nil {
		return f.failed(ctx, err, submitted)
	}
	p := cli.NewPrinter(stdout)
	if f.json {
		p.W = io.Discard
	}
	ids := make([]string, f.jobs)
	for i := range ids {
		ids[i] = f.jobID(i + 1)
	}
	printSubmitted(p, ids, before)
	if !f.wait {
		if f.json {
			return printJobs(stdout, before.mark(endings(ids)))
		}
		return nil
	}
	found, late, err := awaitJobs(ctx, c.Redis, ids, f.timeout, show, stderr)
	show.Done()
	if err != nil {
		return err
	}
	if f.json {
		if err := printJobs(stdout, before.mark(found)); err != nil {
			return err
		}
	}
	return conclude(p, found, late)
}

func (f *submitFlags) again() string {
	if f.id != "" {
		return ""
	}
	return fmt.Sprintf(" (--id-prefix %s --jobs %d)", f.prefix, f.jobs)
}

// failed says why not all were submitted, and what to do about it.
func (f *submitFlags) failed(ctx context.Context, err error, submitted int) error {
	done := fmt.Sprintf("%s of %s submitted", cli.Thousands(submitted), cli.Plural(f.jobs, "job"))
	again := "give the same ids again" + f.again()
	var refused *cli.Error
	switch {
	case ctx.Err() != nil:
	case errors.As(err, &refused):
		return refused
	case tooLarge(err):
		return cli.Fail(cli.ExitUsage, "%s; %s: give less with each job, such as a smaller --payload", servers.Plainly(err), done)
	case redis.IsOOMError(err):
		return cli.Fail(cli.ExitInconclusive, "%s; %s: raise the maxmemory of Redis at %s, or let it hold less; then %s", servers.Plainly(err), done, servers.Public(f.RedisURL), again)
	case redis.IsReadOnlyError(err):
		return cli.Fail(cli.ExitInconclusive, "%s; %s: Redis at %s takes no writes, as it is a replica; name its master with --redis, and %s", servers.Plainly(err), done, servers.Public(f.RedisURL), again)
	}
	return servers.Lost(ctx, err, done+": to go on, "+again)
}

// tooLarge says whether a request can never be submitted, however often that is tried.
func tooLarge(err error) bool { return errors.Is(err, engine.ErrTooLarge) || bus.TooLarge(err) }

// submitTries is how often what one job's submission takes is tried.
const submitTries = 5

func (f *submitFlags) try(ctx context.Context, call func() error) (err error) {
	for try := range submitTries {
		if try > 0 {
			cli.Pause(ctx, time.Second)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var refused *cli.Error
		if err = call(); err == nil || tooLarge(err) || errors.As(err, &refused) {
			return err
		}
	}
	return err
}

// submit gives the jobs away, one after the other, and returns which existed before, and how many were taken.
func (f *submitFlags) submit(ctx context.Context, c *servers.Clients, show *cli.Progress) (before existing, taken int, err error) {
	err = f.try(ctx, func() (err error) {
		before, err = f.look(ctx, c.Redis)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	for n := range f.jobs {
		if n > 0 {
			cli.Pause(ctx, f.every)
		}
		if err := f.try(ctx, func() error { return c.Client.Submit(ctx, f.request(n+1)) }); err != nil {
			return nil, n, err
		}
		show.Show("%s of %s submitted", cli.Thousands(n+1), cli.Plural(f.jobs, "job"))
	}
	return before, f.jobs, nil
}

// look finds out which of the jobs exist already. One that does with another request is refused: what it was asked
// for first is what is done, and nothing else.
func (f *submitFlags) look(ctx context.Context, client *redis.Client) (existing, error) {
	if f.fresh {
		return nil, nil
	}
	found := existing{}
	records := store.Store{Redis: client, Clock: clockwork.NewRealClock(), Timeout: settings.Hardened().StoreOpTimeout}
	for from := 1; from <= f.jobs; from += lookBatch {
		var ids []string
		for n := from; n <= min(f.jobs, from+lookBatch-1); n++ {
			ids = append(ids, f.jobID(n))
		}
		list, unreadable, err := records.ReadAll(ctx, ids)
		if err = errors.Join(append(unreadable, err)...); err != nil {
			return nil, err
		}
		for i := range list {
			r := &list[i]
			asked := f.request(1)
			asked.JobID = r.JobID
			if other := differs(r, asked); other != "" {
				return nil, cli.Fail(cli.ExitUsage, "%s exists already, since %s, with another %s: it is %s, and is not changed; nothing was submitted: give another id, or the %[3]s of that job",
					r.JobID, r.CreatedAt.UTC().Format(time.RFC3339), other, r.State)
			}
			found[r.JobID] = existed{r.CreatedAt.UTC(), r.State}
		}
	}
	return found, nil
}
