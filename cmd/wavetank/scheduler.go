package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

type schedulerFlags struct {
	serverFlags
	engineFlags
	safetyFlags
	logFlags
	id            string
	topics        []string
	listen        string
	embeddedRedis string
	embeddedNATS  string
	data          string
	replicas      int
	maxAge        time.Duration
	workflows     bool
	dlqPolicy     string
}

func newScheduler() *cobra.Command {
	var f schedulerFlags
	cmd := &cobra.Command{
		Use:   "scheduler",
		Short: "Run the scheduler itself, against real Redis and NATS",
		Long: `Scheduler runs the engine that the other commands break, as a process of its
own: one replica, in real time, against the Redis and the NATS with JetStream
that it is given. What is not given it brings along: a nats-server whose streams
are in a temporary folder (or in --data), and miniredis, which keeps nothing.
` + "`wavetank worker`, `wavetank submit` and `wavetank workflow`" + ` find those by themselves.

A Redis that does not answer ends the start, since an address is soon wrong; so
does a replica or a node of a cluster, which cannot be worked with, and one that
takes no writes. A NATS that does not answer is waited for. Later on, a lost connection comes back; what could
not be done meanwhile is done later. Redis behind Sentinels is named by them:
redis://HOST:26379/0?master_name=NAME&addr=HOST2:26379, with the user and password
of Redis, if any, as &username=USER&password=PASSWORD.

It answers /metrics, for Prometheus; /healthz, for readiness, which is 200 only
while the engine runs and both servers can be worked with (what it says of a
safety kernel is for the reader alone); and /livez, for liveness, which is 200
while the process runs: it outlives its servers, and a restart helps none.

With --safety-kernel it asks that about every job, over gRPC: with TLS, trusting
the authority in $SAFETY_KERNEL_TLS_CA or else the system's, or in plaintext with
SAFETY_KERNEL_INSECURE=true, which SAFETY_KERNEL_TLS_REQUIRED=true refuses. While
it cannot be reached, jobs wait; or go on, with POLICY_CHECK_FAIL_MODE=open. With
OUTPUT_POLICY_ENABLED=true it is asked about each result, too, over the same
connection, and results pass while it cannot be reached. --set wins over the
environment.

On SIGINT or SIGTERM it finishes what it has begun; another one, a second later
or more, ends it at once.
Exit codes: 0 stopped, 2 usage, or a server that cannot be used, 3 a Redis that
takes no writes at the start, for want of memory, replicas or a disk, 130 ended by
a second signal.`,
		Example: `  wavetank scheduler
  wavetank scheduler --redis redis://redis:6379/0 --nats nats://nats:4222
  wavetank scheduler --redis rediss://:PASSWORD@redis:6379/0 --nats tls://nats:4222 --nats-creds nats.creds --tls-ca ca.crt
  wavetank scheduler --set engine.poll_interval=5s --set engine.dispatch_timeout=30s
  SAFETY_KERNEL_TLS_CA=ca.crt wavetank scheduler --safety-kernel kernel:9443
  wavetank scheduler --topic job.default=default --topic job.gpu=gpu-a,gpu-b`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := givenName(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), cmd.Flags().Changed)
		},
	}
	f.addRedis(cmd, "one in this process")
	f.addNATS(cmd, "one in this process")
	f.addSecurity(cmd)
	cmd.Flags().StringVar(&f.id, "id", "", "the replica's `NAME`, in logs and locks (default the host's name)")
	f.engineFlags.add(cmd, "settings")
	f.safetyFlags.add(cmd)
	cmd.Flags().StringArrayVar(&f.topics, "topic", nil, "the pools that serve a topic, `TOPIC=POOL,...`; repeatable (default job.default=default)")
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:2112", "where /metrics, /healthz and /livez are, `ADDR`; none opens no port")
	cmd.Flags().StringVar(&f.embeddedRedis, "embedded-redis", embeddedRedisAddr, "where this process's own Redis listens, `ADDR`; given, it wins over $"+envRedis)
	cmd.Flags().StringVar(&f.embeddedNATS, "embedded-nats", embeddedNATSAddr, "where this process's own NATS listens, `ADDR`; given, it wins over $"+envNATS)
	cmd.Flags().StringVar(&f.data, "data", "", "where this process's own NATS keeps its streams, `DIR`; needs --redis (default a temporary folder)")
	cmd.Flags().IntVar(&f.replicas, "replicas", 1, "how many servers of a NATS cluster keep each message, `N`; of streams that this creates, as the next")
	cmd.Flags().DurationVar(&f.maxAge, "max-age", 0, "how long the streams keep a message, `DURATION`, no less than engine.epochs needs; 0 is for ever")
	cmd.Flags().BoolVar(&f.workflows, "workflows", true, "take on the runs that wavetank workflow start starts")
	cmd.Flags().StringVar(&f.dlqPolicy, "dlq-policy", "", "triage dead letters by this policy, `FILE`, and replay those that may be")
	f.logFlags.add(cmd)
	for _, name := range []string{"id", "topic", "listen", "embedded-redis", "embedded-nats", "replicas", "max-age"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

func (f *schedulerFlags) run(ctx context.Context, stdout, stderr io.Writer, given func(flag string) bool) error {
	log, err := f.logger(stderr)
	if err != nil {
		return err
	}
	settings, changes, err := f.settings()
	if err != nil {
		return err
	}
	if err := f.failMode(&settings, f.sets); err != nil {
		return err
	}
	if err := f.outputPolicy(&settings, f.sets); err != nil {
		return err
	}
	if err := f.idle(f.sets); err != nil {
		return err
	}
	safety, secured, err := f.dial()
	if err != nil {
		return err
	}
	triage, err := loadTriage(f.dlqPolicy)
	if err != nil {
		return err
	}
	if triage != nil {
		if gives(f.sets, enginePrefix+"replay.enabled") && !settings.Replay.Enabled || !settings.Replay.Triage {
			return fail(exitUsage, "--dlq-policy says how dead letters are triaged, and --set that they are not; take one of the two away")
		}
		settings.Replay.Enabled = true
		changes = append(changes, fmt.Sprintf("Dead letters are triaged by %s: %s", f.dlqPolicy, plural(len(triage.Rules), "rule")))
	}
	routes, err := parseTopics(f.topics)
	if err != nil {
		return err
	}
	if err := f.check(settings, given); err != nil {
		return err
	}
	own, err := f.startEmbedded(f.embeddedRedis, f.embeddedNATS, f.data)
	if err != nil {
		return err
	}
	defer own.stop()
	ctx, stop := interruptible(ctx, own.cleanUp)
	defer stop()
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)

	client, err := f.openRedis(ctx, log, writes)
	switch {
	case ctx.Err() != nil: // told to stop before it ran
		return nil
	case err != nil:
		return err
	}
	defer func() { _ = client.Close() }()
	nc, js, err := f.keepNATS("wavetank scheduler "+f.id, log, lost)
	if err != nil {
		return err
	}
	defer hangUp(nc, log)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		metrics.DLQDepth(func(ctx context.Context) (int64, error) { return client.ZCard(ctx, dlq.IndexKey).Result() }))
	streams := engine.StreamOptions{Replicas: f.replicas, MaxAge: f.maxAge}
	config := engine.Config{
		Workflows: f.workflows,
		ID:        f.id, Settings: settings, Routing: routes, Streams: streams, Redis: client, JetStream: js, NATS: nc, Logger: log, Registerer: registry, Triage: triage,
	}
	if safety != nil {
		defer func() { _ = safety.Close() }()
		config.Safety, config.Output = safety, safety
		changes = append(changes, f.kernelGreeting(secured, settings.Policy.FailMode))
		if settings.Output.Enabled {
			changes = append(changes, "It is asked about the jobs' outputs, too")
		}
	}
	e, err := engine.New(config)
	if err != nil {
		return fail(exitUsage, "%s", firstLine(err))
	}
	h := &health{id: f.id, redis: client, nats: nc, js: js, engine: "starting"}
	if safety != nil {
		h.kernel = func(ctx context.Context) string { return kernelState(ctx, safety, e) }
		go f.probe(ctx, settings.Policy.FailMode, log)
	}
	at, closePort, err := serve(f.listen, h, registry)
	if err != nil {
		return err
	}
	defer closePort()
	f.greet(stdout, own, changes, at)
	go func() {
		<-ctx.Done()
		h.says("stopping")
	}()
	keepRunning(ctx, e, js, streams, f.natsURL, h, log)
	if cause := context.Cause(ctx); !errors.Is(cause, errInterrupted) {
		return cause
	}
	newPrinter(stdout).line("Scheduler %s has stopped; what it had begun is finished.", f.id)
	return nil
}

// check refuses what can be refused before anything is started, and fills in the rest.
func (f *schedulerFlags) check(settings settings.Settings, given func(flag string) bool) error {
	natsBy := ""
	if f.natsURL == "" {
		natsBy = ", which $" + envNATS + " names,"
	}
	flags := f.serverFlags
	f.fromEnv()
	if given("embedded-redis") { // asks for one, whatever the environment names
		f.redisURL = flags.redisURL
	}
	if given("embedded-nats") {
		f.natsURL = flags.natsURL
	}
	if f.id == "" {
		f.id = hostName()
	}
	if err := checkName(f.id); err != nil {
		return err
	}
	if err := f.checkURLs(); err != nil {
		return err
	}
	switch {
	case f.data != "" && f.natsURL != "":
		return fail(exitUsage, "--data is for the NATS of this process's own, and %s%s is another; leave one of the two out", public(f.natsURL), natsBy)
	case f.data != "" && f.redisURL == "":
		return fail(exitUsage, "--data keeps the streams, but a Redis of this process's own keeps nothing, and one without the other is of no use; give --redis, or leave --data out")
	}
	switch {
	case f.replicas < 1 || f.replicas > 5:
		return fail(exitUsage, "--replicas is %d; it must be from 1 to 5", f.replicas)
	case f.replicas > 1 && f.natsURL == "":
		return fail(exitUsage, "--replicas is %d, but a NATS of this process's own is one server; give --nats, or leave --replicas out", f.replicas)
	case f.maxAge != 0 && f.maxAge < 100*time.Millisecond:
		return fail(exitUsage, "--max-age is %s; it must be 0 or from 100ms on", f.maxAge)
	}
	if least := settings.MaxAgeMin(); f.maxAge != 0 && f.maxAge < least {
		return fail(exitUsage, "--max-age is %s, and engine.epochs needs each dispatch in its stream for as long as it may be repeated: engine.dispatch_timeout (or the longest of engine.topic_timeouts), three times engine.poll_interval, and engine.job_lock_ttl; give %s or more, or 0 for ever", f.maxAge, least)
	}
	if f.listen != listenNone {
		if err := checkAddr("--listen", f.listen); err != nil {
			return err
		}
	}
	if err := checkAddr("--embedded-redis", f.embeddedRedis); err != nil {
		return err
	}
	return checkAddr("--embedded-nats", f.embeddedNATS)
}

// checkName refuses an --id that cannot stand where names of processes do: in NATS subjects, the names of
// consumers, and the tokens of locks.
func checkName(id string) error {
	if !job.IsToken(id) || strings.ContainsAny(id, `/\`) {
		return fail(exitUsage, "--id is %q, which cannot be part of a NATS subject; leave out spaces, '.', '*', '>', '/', '\\' and what is not UTF-8", id)
	}
	if len(id) > nameBytesMax {
		return fail(exitUsage, "--id has %d bytes; give a name of %d at most", len(id), nameBytesMax)
	}
	return nil
}

// nameBytesMax bounds what a consumer's name holds besides a prefix: NATS takes 255 bytes.
const nameBytesMax = 200

// givenName refuses an --id that is given and empty.
func givenName(cmd *cobra.Command) error {
	if id := cmd.Flags().Lookup("id"); id.Changed && id.Value.String() == "" {
		return fail(exitUsage, "--id is empty; name the %s, or leave --id out for the host's name", cmd.Name())
	}
	return nil
}

// hostName is a name for a process of which there is one on a host, as a token of a NATS subject.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return strings.ReplaceAll(name, ".", "-")
}

// greet says what runs, and how to reach it.
func (f *schedulerFlags) greet(w io.Writer, own *embedded, changes []string, at string) {
	p := newPrinter(w)
	p.line("Scheduler %s, Redis at %s, NATS at %s", p.paint(bold, f.id), public(f.redisURL), public(f.natsURL))
	for _, change := range changes {
		p.line("  %s", change)
	}
	if own.redis != nil {
		p.line("  Redis is this process's own: what it holds is gone when this ends.")
	}
	if own.nats != nil && f.data == "" {
		p.line("  NATS is this process's own: what it holds is gone when this ends.")
	}
	if own.redis != nil && own.nats != nil {
		redisFlag, natsFlag := "", ""
		if f.redisURL != "redis://"+embeddedRedisAddr+"/0" || os.Getenv(envRedis) != "" {
			redisFlag = " --redis " + f.redisURL
		}
		if f.natsURL != "nats://"+embeddedNATSAddr || os.Getenv(envNATS) != "" {
			natsFlag = " --nats " + f.natsURL
		}
		p.line("  Give it something to do:")
		p.line("    %s", pasteable("wavetank worker"+redisFlag+natsFlag))
		p.line("    %s", pasteable("wavetank submit --jobs 10 --wait"+redisFlag+natsFlag))
	}
	if at != "" {
		p.line("  http://%s/metrics, http://%s/healthz", at, at)
	}
}

// startAgainAfter is how long a scheduler waits before it tries again to start its engine.
const startAgainAfter = 2 * time.Second

// keepRunning runs the engine until ctx ends. An engine that cannot start, for want of a server that
// answers, is started again later.
func keepRunning(ctx context.Context, e *engine.Engine, js jetstream.JetStream, streams engine.StreamOptions, at string, h *health, log *slog.Logger) {
	started := outage{log: log, fails: "the engine cannot start; trying again", over: "the engine starts"}
	for ctx.Err() == nil {
		// Run does this, too; but only what comes after it counts as running.
		err := engine.EnsureStreams(ctx, js, streams)
		if err == nil {
			started.says(nil)
			h.says(well)
			err = e.Run(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, nats.ErrNoResponders) {
			err = noJetStream(at, err)
		}
		h.says("cannot start: " + plainly(err))
		started.says(err)
		pause(ctx, startAgainAfter)
	}
}
