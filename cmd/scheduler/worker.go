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
		Long: `Worker takes the jobs that ` + "`scheduler serve`" + ` dispatches to it, executes
each for a given time, and reports the result. Every few seconds it sends a heartbeat,
which says how busy it is. It drops a job that is cancelled.

A job's output is its payload, if it has one, or --output. The worker keeps the output
in Redis for 30 days, under res:JOB:EPOCH, or res:JOB:seq-N without epochs, and names
the key in the result. The output policy of ` + "`scheduler serve`" + ` scans it there.
With --redact, the worker also keeps a copy without that text, under KEY:redacted, for a
policy whose sync rule decides REDACT with redacted_ptr: "{result_ptr}:redacted". If a
NATS is given and no Redis, the worker keeps no outputs.

With --report-load, it reports how busy its machine is: the load average of the last
minute for each processor, as Linux computes it. A scheduler gives no jobs to a worker
at 90% or more; if all workers are, the jobs wait.

The worker executes at least once each job that it has begun, if need be after a restart
under its --id. It does not look for repetitions. With --ledger, it appends one line of
JSON for each execution to a file, in which duplicates can be counted.

The worker waits for a NATS that does not answer, or in which no scheduler has made the
streams yet. On SIGINT, SIGTERM or SIGHUP, it takes no more jobs, finishes those that it
has begun, and reports for at least two seconds that it stops. Another signal, at least a
second later, ends it at once. Jobs that were dispatched to it and not begun stay queued,
and the worker says how many. They wait for a worker with the same --id, or end TIMEOUT at
a tick of the reconciler: once the worker has been silent for engine.dispatch_timeout
(with engine.watch_workers), or once the job has been RUNNING for engine.running_timeout.
A scheduler that starts within engine.worker_ttl after the worker has stopped, and reads
an older snapshot, may still give it jobs, which wait in the same way. While a worker is
alive, another worker with its --id is refused, if NATS answers by then.

Exit codes: 0 stopped, 2 usage, or a server that cannot be used, 3 a Redis that takes no
writes at the start, 130 ended by a second signal.`,
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
	cmd.Flags().StringVar(&f.output, "output", "", "the output of each job, `TEXT` (default its payload)")
	cmd.Flags().StringArrayVar(&f.redact, "redact", nil, "keep a copy of each output without `TEXT`; repeatable")
	cmd.Flags().StringVar(&f.id, "id", "", "the worker's `NAME`, which one worker has at a time (default the host's name)")
	cmd.Flags().StringVar(&f.pool, "pool", routing.DefaultPool, "the `POOL` that it belongs to")
	cmd.Flags().IntVar(&f.parallel, "parallel", 4, "how many jobs it executes at once, `N`")
	cmd.Flags().DurationVar(&f.work, "work", 50*time.Millisecond, "how long it executes a job, `DURATION`")
	cmd.Flags().Float64Var(&f.failRate, "fail-rate", 0, "the `SHARE` of jobs that fail, from 0 to 1")
	cmd.Flags().DurationVar(&f.heartbeat, "heartbeat", 10*time.Second, "how often it sends a heartbeat, `DURATION`")
	cmd.Flags().DurationVar(&f.dispatchAge, "dispatch-age", time.Hour, "when the worker is new to NATS, the age up to which it takes a dispatch, `DURATION`: longer than any timeout of the schedulers; 0 takes everything in the stream")
	cmd.Flags().StringToStringVar(&f.labels, "label", nil, "a label that jobs can ask for, `KEY=VALUE`, such as zone=a for placement.zone=a; repeatable")
	cmd.Flags().StringSliceVar(&f.able, "capability", nil, "what the worker offers, `CAPABILITY`, such as gpu for constraint.gpu=true; repeatable")
	cmd.Flags().BoolVar(&f.load, "report-load", false, "report how busy the machine is; at 90% the worker is given no jobs")
	cmd.Flags().StringVar(&f.ledger, "ledger", "", "append a line of JSON for each execution to `FILE`")
	f.LogFlags.Add(cmd)
	cmd.Flags().StringVar(&f.failCode, "fail-reason", "", "the `REASON_CODE` of jobs that fail, such as timeout or unknown_commit_state")
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
		return cli.Fail(cli.ExitUsage, "--work is %v, out of range; give a duration of 0s or more", f.work)
	case !(f.failRate >= 0 && f.failRate <= 1):
		return cli.Fail(cli.ExitUsage, "--fail-rate is %v, out of range; give 0 to 1", f.failRate)
	case f.failCode != "" && f.failRate == 0:
		return cli.Fail(cli.ExitUsage, "--fail-reason is for jobs that fail, but none does; say with --fail-rate how many fail, or leave --fail-reason out")
	case f.RedisURL == "" && (f.output != "" || len(f.redact) > 0):
		return cli.Fail(cli.ExitUsage, "--output and --redact need a Redis, which keeps the outputs, but none is given; give one with --redis")
	case slices.Contains(f.redact, ""):
		return cli.Fail(cli.ExitUsage, "--redact is empty; give the text that the copy leaves out")
	case f.dispatchAge < 0:
		return cli.Fail(cli.ExitUsage, "--dispatch-age is %v, out of range; give a duration of 0s or more", f.dispatchAge)
	case f.heartbeat < 100*time.Millisecond:
		return cli.Fail(cli.ExitUsage, "--heartbeat is %v, out of range; give a duration of 100ms or more", f.heartbeat)
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
		return cli.Fail(cli.ExitUsage, "--report-load: the load of this machine cannot be read: %w; leave --report-load out", err)
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
		p.Line("  How many messages are left for it is not known: %s.", servers.Plainly(unknown))
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
