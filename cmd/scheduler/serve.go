package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/outage"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

type schedulerFlags struct {
	servers.Flags
	engineFlags
	safetyFlags
	servers.LogFlags
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
	ledger        *pflag.Flag
}

func newServe() *cobra.Command {
	var f schedulerFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the scheduler itself, against a real Redis and NATS",
		Long: `Serve runs one replica of the engine against the Redis and the NATS with JetStream that
it is given. If one is not given, serve runs its own: a nats-server whose streams are in
a temporary folder (or in --data), and miniredis, which keeps nothing. A job takes as
long over miniredis as over redis-server, however many jobs there are. But commands that
read a TTL, such as a check of the circuit breaker while safety kernels fail, get slower
with the number of keys.
` + "`scheduler worker`, `scheduler submit` and `scheduler workflow`" + ` find these servers by themselves.

Serve does not start with a Redis that does not answer, since its address may be wrong;
that is a replica, or a node of a cluster; that drops keys once it is full
(maxmemory-policy); or that takes no writes. It waits for a NATS that does not answer.
It does not start with a NATS before 2.11, unless engine.epochs is off, or with a stream
of a retention other than limits. After the start, serve connects again to a server that
it has lost, and then does what it could not do in the meantime. A Redis behind Sentinels
is named by its Sentinels: redis://HOST:26379/0?master_name=NAME&addr=HOST2:26379, with
the user and password of Redis, if any, as &username=USER&password=PASSWORD.

Once Redis has a replica, serve acknowledges a message and publishes a dispatch only
when the replicas that are online have what was written for it (engine.wait_replica), so
that a failover loses no job. If no replica is online any more, it acknowledges nothing:
with two replicas, one server may be lost. A scheduler that has not seen a replica yet
does not wait for one.

Serve answers /metrics, for Prometheus; /healthz, for readiness; and /livez, for
liveness. /healthz is 200 only while the engine runs and both servers can be used; what it
says about a safety kernel does not change the status. /livez is 200 while the process
runs: the process survives the loss of its servers, and a restart does not help.

With --safety-kernel, serve asks that kernel about every job, over gRPC. It uses TLS, and
trusts the authority in $SAFETY_KERNEL_TLS_CA or else the system's authorities. With
SAFETY_KERNEL_INSECURE=true it uses plaintext, unless SAFETY_KERNEL_TLS_REQUIRED=true
forbids that. While the kernel cannot be reached, jobs wait; with
POLICY_CHECK_FAIL_MODE=open they go on. With OUTPUT_POLICY_ENABLED=true, serve also asks
about each result, over the same connection; results pass while the kernel cannot be
reached. --set wins over the environment.

On SIGINT, SIGTERM or SIGHUP, serve finishes what it has begun. Another signal, at least a
second later, ends it at once.
Exit codes: 0 stopped, 2 usage, or a server that cannot be used, 3 a Redis that
takes no writes at the start, for want of memory, replicas or a disk, or has no
replica where engine.wait_replica asks for one, 130 ended by a second signal.`,
		Example: `  scheduler serve
  scheduler serve --redis redis://redis:6379/0 --nats nats://nats:4222
  scheduler serve --redis rediss://:PASSWORD@redis:6379/0 --nats tls://nats:4222 --nats-creds nats.creds --tls-ca ca.crt
  scheduler serve --set engine.poll_interval=5s --set engine.dispatch_timeout=30s
  SAFETY_KERNEL_TLS_CA=ca.crt scheduler serve --safety-kernel kernel:9443
  scheduler serve --topic job.default=default --topic job.gpu=gpu-a,gpu-b`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := givenName(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), cmd.Flags().Changed)
		},
	}
	f.AddRedis(cmd, "one in this process")
	f.AddNATS(cmd, "one in this process")
	f.AddSecurity(cmd)
	cmd.Flags().StringVar(&f.id, "id", "", "the replica's `NAME`, in logs and locks (default the host's name)")
	f.engineFlags.add(cmd, "settings")
	f.safetyFlags.add(cmd)
	cmd.Flags().StringArrayVar(&f.topics, "topic", nil, "the pools that serve a topic, `TOPIC=POOL,...`; repeatable (default job.default=default)")
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:2112", "the address of /metrics, /healthz and /livez, `ADDR`; none opens no port")
	cmd.Flags().StringVar(&f.embeddedRedis, "embedded-redis", servers.EmbeddedRedisAddr, "where this process's own Redis listens, `ADDR`; if given, it wins over $"+servers.EnvRedis)
	cmd.Flags().StringVar(&f.embeddedNATS, "embedded-nats", servers.EmbeddedNATSAddr, "where this process's own NATS listens, `ADDR`; if given, it wins over $"+servers.EnvNATS)
	cmd.Flags().StringVar(&f.data, "data", "", "where this process's own NATS keeps its streams, `DIR`; needs --redis (default a temporary folder)")
	cmd.Flags().IntVar(&f.replicas, "replicas", 1, "how many servers of a NATS cluster keep each message, `N`, in the streams that serve creates")
	cmd.Flags().DurationVar(&f.maxAge, "max-age", 0, "how long the streams that serve creates keep a message, `DURATION`, at least as long as it may be delivered again; 0 is for ever")
	cmd.Flags().BoolVar(&f.workflows, "workflows", true, "execute the runs that scheduler workflow start starts")
	cmd.Flags().StringVar(&f.dlqPolicy, "dlq-policy", "", "triage dead letters by this policy, `FILE`, and replay those that may be replayed")
	cmd.Flags().String("ledger", "", outsideUsage)
	f.ledger = cmd.Flags().Lookup("ledger")
	f.LogFlags.Add(cmd)
	return cmd
}

// configure is what the flags and the environment say of the engine, with the connection to the safety kernel, if there
// is one, and what there is to say of all that in greeting.
func (f *schedulerFlags) configure() (c engine.Config, kernel *grpc.ClientConn, changes []string, err error) {
	if c.Settings, changes, err = f.settings(); err != nil {
		return c, nil, nil, err
	}
	if err := f.fromEnvironment(&c.Settings, f.sets); err != nil {
		return c, nil, nil, err
	}
	kernel, secured, err := servers.DialKernel(f.kernel)
	if err != nil {
		return c, nil, nil, err
	}
	if kernel != nil {
		c.Safety, c.Output = kernel, kernel
		changes = append(changes, f.kernelGreeting(secured, c.Settings.Policy.FailMode))
		if c.Settings.Output.Enabled {
			changes = append(changes, "The kernel is asked about the jobs' outputs, too")
		}
	}
	if c.Triage, err = loadTriage(f.dlqPolicy); err != nil {
		return c, nil, nil, err
	}
	if c.Triage != nil {
		if gives(f.sets, enginePrefix+"replay.enabled") && !c.Settings.Replay.Enabled || !c.Settings.Replay.Triage {
			return c, nil, nil, cli.Fail(cli.ExitUsage, "--dlq-policy says how dead letters are triaged, but --set says that they are not; remove one of the two")
		}
		c.Settings.Replay.Enabled = true
		changes = append(changes, fmt.Sprintf("Dead letters are triaged by %s: %s", f.dlqPolicy, cli.Plural(len(c.Triage.Rules), "rule")))
	}
	if c.Ledger, err = openOutside(f.ledger); err != nil {
		return c, nil, nil, err
	}
	if c.Ledger != nil {
		if !c.Settings.Replay.Enabled || !c.Settings.Replay.CheckCommitted {
			return c, nil, nil, cli.Fail(cli.ExitUsage, "--ledger is asked before a replay, but this scheduler replays nothing, or replays without a check; add --dlq-policy FILE or --set engine.replay.enabled=true, and leave engine.replay.check_committed at true")
		}
		changes = append(changes, fmt.Sprintf("Before a replay, the ledger at %s is asked", c.Ledger.(*outside).url.Redacted()))
	}
	c.Streams, c.Workflows = bus.StreamOptions{Replicas: f.replicas, MaxAge: f.maxAge}, f.workflows
	if c.Routing, err = parseTopics(f.topics); err == nil {
		err = servedTimeouts(c)
	}
	return c, kernel, changes, err
}

func (f *schedulerFlags) run(ctx context.Context, stdout, stderr io.Writer, given func(flag string) bool) error {
	log, err := f.Logger(stderr)
	if err != nil {
		return err
	}
	config, kernel, changes, err := f.configure()
	if err != nil {
		return err
	}
	if err := f.check(config.Settings, given); err != nil {
		return err
	}
	own, err := f.StartEmbedded(f.embeddedRedis, f.embeddedNATS, f.data)
	if err != nil {
		return err
	}
	defer own.Stop()
	ctx, stop := cli.Interruptible(ctx, own.CleanUp)
	defer stop()
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)

	client, err := f.OpenRedis(ctx, log, servers.Writes)
	switch {
	case ctx.Err() != nil: // told to stop before it ran
		return nil
	case err != nil:
		return err
	}
	defer func() { _ = client.Close() }()
	says, err := f.replicated(ctx, client, &config.Settings, own.Redis != nil)
	if err != nil {
		return err
	}
	changes = append(changes, says...)
	nc, js, err := f.KeepNATS("scheduler serve "+f.id, log, lost)
	if err != nil {
		return err
	}
	defer servers.HangUp(nc, log)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		metrics.DLQDepth(func(ctx context.Context) (int64, error) { return client.ZCard(ctx, dlq.IndexKey).Result() }))
	config.ID, config.Redis, config.JetStream, config.NATS, config.Logger, config.Registerer = f.id, client, js, nc, log, registry
	h := &health{id: f.id, redis: client, nats: nc, js: js, engine: "starting", pulls: map[string]error{}}
	started := outage.Log{Logger: log, Clock: clockwork.NewRealClock(), Fails: "the engine cannot start; trying again", Over: "the engine starts"}
	config.Pulled, config.Ready = h.pulled, func() {
		started.Says(nil)
		h.says(well)
	}
	e, err := engine.New(config)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%s", cli.FirstLine(err))
	}
	if config.Settings.WaitReplica {
		h.replica = e.AwaitsReplica
	}
	if kernel != nil {
		defer func() { _ = kernel.Close() }()
		h.kernel = func(ctx context.Context) string { return kernelState(ctx, kernel, e) }
		go f.probe(ctx, config.Settings.Policy.FailMode, log)
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
	if err := keepRunning(ctx, e, f.NATSURL, h, &started); err != nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, cli.ErrInterrupted) {
		return cause
	}
	cli.NewPrinter(stdout).Line("Scheduler %s has stopped; what it had begun is finished.", f.id)
	return nil
}

// check refuses what can be refused before anything is started, and fills in the rest.
func (f *schedulerFlags) check(settings settings.Settings, given func(flag string) bool) error {
	natsBy := ""
	if f.NATSURL == "" {
		natsBy = ", which $" + servers.EnvNATS + " names,"
	}
	flags := f.Flags
	f.FromEnv()
	if given("embedded-redis") { // asks for one, whatever the environment names
		f.RedisURL = flags.RedisURL
	}
	if given("embedded-nats") {
		f.NATSURL = flags.NATSURL
	}
	if f.id == "" {
		f.id = hostName()
	}
	if err := checkName(f.id); err != nil {
		return err
	}
	if err := f.CheckURLs(); err != nil {
		return err
	}
	switch {
	case f.data != "" && f.NATSURL != "":
		return cli.Fail(cli.ExitUsage, "--data is for this process's own NATS, but %s%s is another; leave one of the two out", servers.Public(f.NATSURL), natsBy)
	case f.data != "" && f.RedisURL == "":
		return cli.Fail(cli.ExitUsage, "--data keeps the streams, but this process's own Redis keeps nothing, and streams without their Redis are of no use; give --redis, or leave --data out")
	}
	switch {
	case f.replicas < 1 || f.replicas > 5:
		return cli.Fail(cli.ExitUsage, "--replicas is %d; it must be from 1 to 5", f.replicas)
	case f.replicas > 1 && f.NATSURL == "":
		return cli.Fail(cli.ExitUsage, "--replicas is %d, but this process's own NATS is one server; give --nats, or leave --replicas out", f.replicas)
	case f.maxAge != 0 && f.maxAge < 100*time.Millisecond:
		return cli.Fail(cli.ExitUsage, "--max-age is %s; it must be 0, or 100ms or more", f.maxAge)
	}
	if least := engine.MaxAgeMin(&settings); f.maxAge != 0 && f.maxAge < least {
		return cli.Fail(cli.ExitUsage, "--max-age is %s, too short: a message must stay in its stream for as long as it may be delivered or published again; with these settings, give %s or more, or 0 for ever", f.maxAge, least.Round(time.Second))
	}
	if f.listen != listenNone {
		if err := servers.CheckAddr("--listen", f.listen); err != nil {
			return err
		}
	}
	if err := servers.CheckAddr("--embedded-redis", f.embeddedRedis); err != nil {
		return err
	}
	return servers.CheckAddr("--embedded-nats", f.embeddedNATS)
}

// nameBytesMax bounds what a consumer's name holds besides a prefix: NATS takes 255 bytes.
const nameBytesMax = 200

// greet says what runs, and how to reach it.
func (f *schedulerFlags) greet(w io.Writer, own *servers.Embedded, changes []string, at string) {
	p := cli.NewPrinter(w)
	p.Line("Scheduler %s, Redis at %s, NATS at %s", p.Paint(cli.Bold, f.id), servers.Public(f.RedisURL), servers.Public(f.NATSURL))
	for _, change := range changes {
		p.Line("  %s", change)
	}
	if own.Redis != nil {
		p.Line("  Redis is this process's own: its data are lost when the process ends.")
	}
	if own.NATS != nil && f.data == "" {
		p.Line("  NATS is this process's own: its data are lost when the process ends.")
	}
	if own.Redis != nil && own.NATS != nil {
		redisFlag, natsFlag := "", ""
		if f.RedisURL != "redis://"+servers.EmbeddedRedisAddr+"/0" || os.Getenv(servers.EnvRedis) != "" {
			redisFlag = " --redis " + f.RedisURL
		}
		if f.NATSURL != "nats://"+servers.EmbeddedNATSAddr || os.Getenv(servers.EnvNATS) != "" {
			natsFlag = " --nats " + f.NATSURL
		}
		p.Line("  Give it something to do:")
		p.Line("    %s", cli.Pasteable("scheduler worker"+redisFlag+natsFlag))
		p.Line("    %s", cli.Pasteable("scheduler submit --jobs 10 --wait"+redisFlag+natsFlag))
	}
	if at != "" {
		p.Line("  http://%s/metrics, http://%s/healthz", at, at)
	}
}

// startAgainAfter is how long a scheduler waits before it tries again to start its engine.
const startAgainAfter = 2 * time.Second

// keepRunning runs the engine until ctx ends. An engine that cannot start, for want of a server that
// answers, is started again later; a server that answers and cannot be worked with is the error.
func keepRunning(ctx context.Context, e *engine.Engine, at string, h *health, started *outage.Log) error {
	for ctx.Err() == nil {
		err := e.Run(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, bus.ErrUnfit):
			return cli.Fail(cli.ExitUsage, "NATS at %s cannot be used: %s", servers.Public(at), strings.TrimPrefix(err.Error(), "engine: "))
		case errors.Is(err, nats.ErrNoResponders):
			err = servers.NoJetStream(at, err)
		}
		h.says("cannot start: " + servers.Plainly(err))
		started.Says(err)
		cli.Pause(ctx, startAgainAfter)
	}
	return nil
}

// servedTimeouts refuses a timeout of a topic that is not served: it would bound nothing.
func servedTimeouts(c engine.Config) error {
	strategy, err := routing.New(c.Routing)
	if err != nil {
		return err
	}
	timeouts, err := c.Settings.TopicTimeouts.Parse()
	for _, topic := range slices.Sorted(maps.Keys(timeouts)) {
		if served := strategy.Topics(); !slices.Contains(served, topic) {
			return cli.Fail(cli.ExitUsage, "%stopic_timeouts names %s, but this scheduler serves %s; serve that topic with --topic %s=POOL, or leave it out", enginePrefix, topic, strings.Join(served, ", "), topic)
		}
	}
	return err
}

// parseTopics reads --topic job.fast=pool-a,pool-b. None is the default mapping.
func parseTopics(list []string) (routing.Config, error) {
	if len(list) == 0 {
		return routing.Config{}, nil
	}
	c := routing.Config{Topics: map[string][]string{}}
	for _, text := range list {
		topic, pools, ok := strings.Cut(text, "=")
		if _, twice := c.Topics[topic]; !ok || pools == "" || twice {
			return c, cli.Fail(cli.ExitUsage, "--topic is %q; give each topic once, with its pools, as in job.fast=pool-a,pool-b", text)
		}
		c.Topics[topic] = strings.Split(pools, ",")
	}
	if err := c.Validate(); err != nil {
		return c, cli.Fail(cli.ExitUsage, "--topic: %s", cli.FirstLine(err))
	}
	return c, nil
}
