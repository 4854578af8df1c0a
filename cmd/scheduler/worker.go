package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
	"github.com/wavetank-sim/wavetank/engine/worker"
)

type workerFlags struct {
	servers.Flags
	servers.LogFlags
	id          string
	pool        string
	parallel    int
	work        time.Duration
	failRate    float64
	failCode    string
	heartbeat   time.Duration
	dispatchAge time.Duration
	labels      map[string]string
	able        []string
	load        bool
	ledger      string
	output      string
	redact      []string
}

const (
	redeliverAfter = 30 * time.Second // a job of a worker that died is delivered again after this
	pullWait       = 5 * time.Second
	cancelsSince   = 24 * time.Hour // how far back a worker that starts reads what was cancelled
)

func newWorker() *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker, which executes what a scheduler dispatches to it",
		Long: `Worker takes the jobs that ` + "`scheduler serve`" + ` dispatches to it, takes its
time over each, and reports the result. It says every few seconds that it lives
and how busy it is, and drops a job that is cancelled.

What a job puts out is its payload, if it has one, or --output. The worker leaves it
in Redis for 30 days, under res:JOB:EPOCH, or res:JOB:seq-N without epochs, and names
the key in the result: there the output policy of ` + "`scheduler serve`" + ` scans it.
With --redact a copy without that text is next to it, under KEY:redacted, for a
policy whose sync rule decides REDACT with redacted_ptr: "{result_ptr}:redacted". With a NATS
that is given, and no Redis, it keeps no outputs.

With --report-load it says how busy its machine is: the load average of the last
minute for each processor, as Linux has it. A scheduler gives no jobs to a worker that
is at 90% or more, and leaves them waiting if all workers are.

It executes at least once what it has begun, if need be after a restart under its
--id, and does not look for repetitions: with --ledger it appends one line of JSON for
each execution to a file, where duplicates can be counted.

A NATS that does not answer, or where no scheduler has made its streams yet, is
waited for. On SIGINT, SIGTERM or SIGHUP it takes no more, finishes what it has begun, and
says for two seconds at least that it stops; another one, a second later or more,
ends it at once. What was dispatched to it and not begun stays queued, and it says how
much that is: it waits for a worker of the same --id, or ends TIMEOUT at a tick of the
reconciler, once the worker has been silent for engine.dispatch_timeout (with
engine.watch_workers) or the job RUNNING for engine.running_timeout. A scheduler that
starts after that, within engine.worker_ttl of it, and reads a snapshot that is older,
may still give it jobs, which wait likewise. While a worker lives, another one of its
--id is refused, if NATS answers by then. Exit codes: 0 stopped, 2 usage, or a server
that cannot be used, 3 a Redis that takes no writes at the start, 130 ended by a
second signal.`,
		Example: `  scheduler worker
  scheduler worker --id worker-2 --work 2s --parallel 1
  scheduler worker --fail-rate 0.1 --ledger worker.jsonl
  scheduler worker --output 'the password is hunter2' --redact hunter2`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := givenName(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.AddNATS(cmd, "nats://"+servers.EmbeddedNATSAddr)
	f.AddRedis(cmd, "redis://"+servers.EmbeddedRedisAddr+"/0 if no NATS is given either")
	f.AddSecurity(cmd)
	cmd.Flags().StringVar(&f.output, "output", "", "what each job puts out, `TEXT` (default its payload)")
	cmd.Flags().StringArrayVar(&f.redact, "redact", nil, "keep a copy of each output without `TEXT`; repeatable")
	cmd.Flags().StringVar(&f.id, "id", "", "the worker's `NAME`, of which there is one at a time (default the host's name)")
	cmd.Flags().StringVar(&f.pool, "pool", routing.DefaultPool, "the `POOL` that it belongs to")
	cmd.Flags().IntVar(&f.parallel, "parallel", 4, "how many jobs it executes at once, `N`")
	cmd.Flags().DurationVar(&f.work, "work", 50*time.Millisecond, "how long it takes over a job, `DURATION`")
	cmd.Flags().Float64Var(&f.failRate, "fail-rate", 0, "the `SHARE` of jobs that fail, from 0 to 1")
	cmd.Flags().DurationVar(&f.heartbeat, "heartbeat", 10*time.Second, "how often it says that it lives, `DURATION`")
	cmd.Flags().DurationVar(&f.dispatchAge, "dispatch-age", time.Hour, "how old a dispatch may be that it takes when it is new to NATS, `DURATION`: longer than any timeout of the schedulers'; 0 takes what the stream holds")
	cmd.Flags().StringToStringVar(&f.labels, "label", nil, "a label that jobs can ask for, `KEY=VALUE`, such as zone=a for placement.zone=a; repeatable")
	cmd.Flags().StringSliceVar(&f.able, "capability", nil, "what it can do, `CAPABILITY`, such as gpu for constraint.gpu=true; repeatable")
	cmd.Flags().BoolVar(&f.load, "report-load", false, "say how busy its machine is; at 90% it is given no jobs")
	cmd.Flags().StringVar(&f.ledger, "ledger", "", "append a line of JSON for each execution to `FILE`")
	f.LogFlags.Add(cmd)
	cmd.Flags().StringVar(&f.failCode, "fail-reason", "", "the `REASON_CODE` that those give, such as timeout or unknown_commit_state")
	return cmd
}

func (f *workerFlags) check() error {
	f.FromEnv()
	if f.RedisURL != "" || f.NATSURL == "" {
		f.OrEmbedded()
	}
	if err := f.CheckURLs(); err != nil {
		return err
	}
	if f.id == "" {
		f.id = hostName()
	}
	if err := checkName(f.id); err != nil {
		return err
	}
	_, unnamed := f.labels[""]
	switch {
	case unnamed:
		return cli.Fail(cli.ExitUsage, "--label has an empty key; give KEY=VALUE, such as zone=a")
	case f.pool == "":
		return cli.Fail(cli.ExitUsage, "--pool is empty; name the pool that the worker belongs to, such as %s", routing.DefaultPool)
	case f.parallel < 1 || f.parallel > 10_000:
		return cli.Fail(cli.ExitUsage, "--parallel is %d, out of range; give 1 to 10000", f.parallel)
	case f.work < 0:
		return cli.Fail(cli.ExitUsage, "--work is %v, out of range; give a duration from 0s on", f.work)
	case !(f.failRate >= 0 && f.failRate <= 1):
		return cli.Fail(cli.ExitUsage, "--fail-rate is %v, out of range; give 0 to 1", f.failRate)
	case f.failCode != "" && f.failRate == 0:
		return cli.Fail(cli.ExitUsage, "--fail-reason is of jobs that fail, and none does; say with --fail-rate how many do, or leave --fail-reason out")
	case f.RedisURL == "" && (f.output != "" || len(f.redact) > 0):
		return cli.Fail(cli.ExitUsage, "--output and --redact are about what is kept in Redis, which is not given; give it with --redis")
	case slices.Contains(f.redact, ""):
		return cli.Fail(cli.ExitUsage, "--redact is empty; give the text that the copy is to be without")
	case f.dispatchAge < 0:
		return cli.Fail(cli.ExitUsage, "--dispatch-age is %v, out of range; give a duration from 0s on", f.dispatchAge)
	case f.heartbeat < 100*time.Millisecond:
		return cli.Fail(cli.ExitUsage, "--heartbeat is %v, out of range; give a duration from 100ms on", f.heartbeat)
	}
	return nil
}

func (f *workerFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	log, err := f.Logger(stderr)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if _, err := loadPercent(); f.load && err != nil {
		return cli.Fail(cli.ExitUsage, "--report-load: how busy this machine is cannot be read: %w; leave it out", err)
	}
	ledger, err := openLedger(f.ledger)
	if err != nil {
		return err
	}
	defer ledger.close()
	ctx, stop := cli.Interruptible(ctx, func() {})
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	log = log.With(slog.String("worker", f.id))
	nc, js, err := f.KeepNATS("scheduler worker "+f.id, log, end, nats.NoEcho())
	if err != nil {
		return err
	}
	if err := claim(ctx, nc, f.id); err != nil {
		return err
	}
	outputs, err := f.openOutputs(ctx, log)
	if err != nil {
		return err
	}
	defer outputs.close()
	p := cli.NewPrinter(stdout)
	p.Line("Worker %s of pool %s, %d at once, NATS at %s", p.Paint(cli.Bold, f.id), f.pool, f.parallel, servers.Public(f.NATSURL))
	if outputs != nil {
		p.Line("  Outputs are in Redis at %s.", servers.Public(f.RedisURL))
	} else {
		p.Line("  Outputs are not kept: no --redis is given.")
	}
	x := &executor{id: f.id, work: f.work, failRate: f.failRate, failCode: f.failCode, ledger: ledger, log: log, broken: end}
	config := worker.Config{
		ID: f.id, Pool: f.pool, Labels: f.labels, Capabilities: f.able, MaxParallel: f.parallel, HeartbeatEvery: f.heartbeat,
		Execute: x.execute, AckWait: redeliverAfter, DispatchAge: f.dispatchAge, FetchWait: pullWait, ConfirmAcks: true, ReadBack: cancelsSince, NATS: nc, JetStream: js, Logger: log,
	}
	if outputs != nil {
		config.Output = outputs.keep
		config.Replica = &store.Replica{Redis: outputs.redis, Timeout: settings.Hardened().StoreOpTimeout}
	}
	if f.load {
		config.Load = func(int) (cpu, gpu float64) { cpu, _ = loadPercent(); return cpu, 0 }
	}
	w := worker.New(config)
	again := nc.StatusChanged(nats.CONNECTED)
	go func() {
		for range again { // who listens has missed some heartbeats
			w.BeatNow()
		}
	}()
	w.Run(context.WithoutCancel(ctx), ctx.Done())
	left, unknown := leftFor(js, f.id)
	servers.HangUp(nc, log)
	if cause := context.Cause(ctx); !errors.Is(cause, cli.ErrInterrupted) {
		return cause
	}
	p.Line("Worker %s has stopped; it executed %s.", f.id, cli.Plural(int(x.executed.Load()), "job"))
	switch {
	case unknown != nil:
		p.Line("  What is left for it is not known: %s.", servers.Plainly(unknown))
	case left > 0:
		p.Line("  Messages that are left for it: %s. %s.", cli.Thousands(left), orTimeout(f.id))
	}
	return nil
}

// leftFor is how many dispatches a worker's consumer holds for whoever takes the worker's name next.
func leftFor(js jetstream.JetStream, id string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), servers.DrainWithin)
	defer cancel()
	consumer, err := js.Consumer(ctx, bus.StreamJobs, worker.ConsumerName(id))
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return 0, nil // it has never had one
	case err != nil:
		return 0, err
	}
	info := consumer.CachedInfo()
	return int(info.NumPending) + info.NumAckPending, nil
}

// openOutputs is where outputs are to be left; nil without a Redis. One that does not answer is waited for, by
// the first output; one that answers and is of no use is refused.
func (f *workerFlags) openOutputs(ctx context.Context, log *slog.Logger) (*outputKeeper, error) {
	if f.RedisURL == "" {
		return nil, nil
	}
	opt, err := f.RedisOptions()
	if err != nil {
		return nil, err
	}
	client := opt.Client(log)
	ctx, cancel := context.WithTimeout(ctx, servers.AnswerWithin)
	defer cancel()
	if err := servers.AskRedis(ctx, client, servers.Writes); servers.Refused(err) {
		_ = client.Close()
		return nil, f.NoRedis(err, opt.Failover != nil)
	}
	return &outputKeeper{redis: client, text: f.output, redact: f.redact}, nil
}
