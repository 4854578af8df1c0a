package servers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// Roles of a Redis, and modes that it runs in, as HELLO gives them.
const (
	roleReplica  = "replica"
	modeCluster  = "cluster"
	modeSentinel = "sentinel"
)

// masterName is the parameter of a URL that names Sentinels and not a Redis.
const masterName = "master_name"

// redisOptions are how to reach a Redis: at an address, or else where Sentinels say that the master is.
type redisOptions struct {
	direct   *redis.Options
	Failover *redis.FailoverOptions
}

// RedisOptions reads the URL of a Redis server. The client honours its callers' deadlines and repeats
// nothing by itself: the engine knows which of its calls may be repeated, and when.
func (f *Flags) RedisOptions() (opt redisOptions, err error) {
	authority, err := f.authority()
	if err != nil {
		return opt, err
	}
	bad := func(what, remedy string) (redisOptions, error) {
		return opt, cli.Fail(cli.ExitUsage, "--redis is %q, which %s; write %s", Public(f.RedisURL), what, remedy)
	}
	const withSentinels = "redis://HOST:26379/0?" + masterName + "=NAME&addr=HOST2:26379"
	not := func(of, remedy string, err error) (redisOptions, error) {
		if unreadable(f.RedisURL, "/?#") {
			return opt, cli.Fail(cli.ExitUsage, "--redis is %q, which "+escapeIt, Public(f.RedisURL))
		}
		if err != nil {
			of += ": " + urlReason(err)
		}
		return bad("is not the URL of "+of, remedy)
	}
	u, err := url.Parse(f.RedisURL)
	switch {
	case err == nil && u.Fragment != "": // the client would leave it out
		err = errors.New("nothing comes after a #")
	case err == nil && strings.Contains(u.Scheme, "sentinel"):
		return bad("has a scheme that differs from client to client", withSentinels+" for Redis behind Sentinels")
	case err == nil && u.Host != "" && u.Query().Has(masterName):
		o, err := redis.ParseFailoverURL(f.RedisURL)
		if err != nil || o.MasterName == "" {
			return not("Sentinels", withSentinels, err)
		}
		if o.ReplicaOnly || o.RouteByLatency || o.RouteRandomly || o.UseDisconnectedReplicas {
			return bad("asks for replicas, which can be behind", withSentinels)
		}
		o.ContextTimeoutEnabled = true
		o.MaxRetries = -1
		if o.TLSConfig != nil {
			o.TLSConfig.RootCAs = authority
			o.TLSConfig.ServerName = "" // each server's own, and not the first Sentinel's
		}
		return redisOptions{Failover: o}, nil
	case err == nil && (u.Host != "" || u.Scheme == "unix"):
		var o *redis.Options
		if o, err = redis.ParseURL(f.RedisURL); err != nil {
			break
		}
		o.ContextTimeoutEnabled = true
		o.MaxRetries = -1
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // a cloud's extension, which other servers refuse
		if o.TLSConfig != nil {
			o.TLSConfig.RootCAs = authority
		}
		return redisOptions{direct: o}, nil
	}
	return not("a Redis server", "redis://HOST:6379/0", err)
}

// urlReason is why a URL cannot be read, without the URL.
func urlReason(err error) string {
	if in, is := errors.AsType[*url.Error](err); is {
		err = in.Err
	}
	return strings.TrimPrefix(err.Error(), "redis: ")
}

// Client does no I/O.
func (o redisOptions) Client(log *slog.Logger) *redis.Client {
	redis.SetLogger(redisLogger{log})
	var client *redis.Client
	if o.Failover != nil {
		client = redis.NewFailoverClient(o.Failover)
	} else {
		client = redis.NewClient(o.direct)
	}
	client.AddHook(queuedError{})
	return client
}

// access is what a command is going to do with a server.
type access int

const (
	Reads access = iota
	Writes
)

// OpenRedis connects to Redis, and makes sure that it answers and is of use.
func (f *Flags) OpenRedis(ctx context.Context, log *slog.Logger, to access) (*redis.Client, error) {
	opt, err := f.RedisOptions()
	if err != nil {
		return nil, err
	}
	client := opt.Client(log)
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	if err := AskRedis(ctx, client, to); err != nil {
		_ = client.Close()
		return nil, f.NoRedis(err, opt.Failover != nil)
	}
	return client, nil
}

// unfit is the error of a Redis that answers and cannot be worked with.
type unfit struct{ what, remedy string }

func (u *unfit) Error() string { return u.what }

// AskRedis makes sure that Redis answers and can be worked with; it is an *unfit if it says that it is none to
// work with. PING alone is answered by a node of a cluster and by a replica, too.
func AskRedis(ctx context.Context, client *redis.Client, to access) error {
	// HELLO takes no rights, as INFO and ROLE do. Its version is the one that the client has agreed on.
	hello := redis.NewMapStringInterfaceCmd(ctx, "hello", client.Options().Protocol)
	err := client.Process(ctx, hello)
	if is := redis.Error(nil); errors.As(err, &is) { // it may be too old to know it
		err = client.Ping(ctx).Err()
	}
	if err != nil {
		return err
	}
	switch it := hello.Val(); {
	case it["mode"] == modeCluster:
		return &unfit{"it is a node of a cluster, which refuses a MULTI over a job's keys", "give a Redis without a cluster with --redis"}
	case it["mode"] == modeSentinel:
		return &unfit{"it is a Sentinel", "name the master that it watches: redis://HOST:26379/0?" + masterName + "=NAME"}
	case to == Reads:
		return nil
	case it["role"] == roleReplica:
		return &unfit{"it is a replica, which takes no writes", "give its master with --redis, or its Sentinels: redis://HOST:26379/0?" + masterName + "=NAME"}
	}
	if policy := evicts(client.Info(ctx, "memory").Val()); policy != "" {
		return &unfit{"its maxmemory-policy is " + policy + ", so it drops keys that are needed once it is full", "run CONFIG SET maxmemory-policy noeviction there, and set the same in its configuration, or give another Redis with --redis"}
	}
	// A write that changes nothing, as no job has an empty name. It fails for want of rights, of replicas
	// (min-replicas-to-write), of a disk, or, as what could add something, of memory (maxmemory).
	return client.ZAddXX(ctx, store.IndexKey(job.Pending), redis.Z{}).Err()
}

// evicts returns the policy by which a Redis drops keys once it is full, as its INFO memory says. It is "" if it drops none:
// with noeviction, without a maxmemory, or if it does not say.
func evicts(info string) (policy string) {
	for line := range strings.Lines(info) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); {
		case name == "maxmemory" && value == "0":
			return ""
		case name == "maxmemory_policy" && value != "noeviction":
			policy = value
		}
	}
	return policy
}

// Refused says whether an error of AskRedis is Redis's own word, which is not likely to change by itself.
func Refused(err error) bool {
	var what *unfit
	var is redis.Error
	return errors.As(err, &what) || errors.As(err, &is) && !NoAnswer(err)
}

// takesNoWrites says whether Redis refuses what it would take at another time: for want of memory, of replicas or
// of a disk.
func takesNoWrites(err error) bool {
	return redis.IsOOMError(err) || redis.IsNoReplicasError(err) || redis.HasErrorPrefix(err, "MISCONF")
}

// NoRedis is the error of a Redis that AskRedis has failed with err, behind Sentinels or not.
func (f *Flags) NoRedis(err error, sentinels bool) error {
	at := Public(f.RedisURL)
	var what *unfit
	switch {
	case errors.As(err, &what):
		return cli.Fail(cli.ExitUsage, "Redis at %s cannot be used: %s; %s", at, what.what, what.remedy)
	case redis.IsPermissionError(err):
		return cli.Fail(cli.ExitUsage, "Redis at %s refuses: %s; grant that to the user, or give another user in the URL", at, cli.FirstLine(err))
	case redis.IsAuthError(err):
		remedy := "give the user and the password in the URL: redis://USER:PASSWORD@HOST:6379/0, or redis://:PASSWORD@HOST:6379/0 without a user"
		if sentinels {
			remedy = "give the user and the password of Redis as &username=USER&password=PASSWORD in the URL, and those of the Sentinels before the @"
		}
		return cli.Fail(cli.ExitUsage, "Redis at %s refuses: %s; %s", at, cli.FirstLine(err), remedy)
	case redis.IsOOMError(err):
		return cli.Fail(cli.ExitInconclusive, "Redis at %s refuses: %s; raise its maxmemory, let it hold less, or give another Redis with --redis", at, cli.FirstLine(err))
	case takesNoWrites(err):
		return cli.Fail(cli.ExitInconclusive, "Redis at %s refuses: %s; mend that, or give another Redis with --redis", at, cli.FirstLine(err))
	case Refused(err):
		return cli.Fail(cli.ExitUsage, "Redis at %s refuses: %s; mend that, or give another Redis with --redis", at, cli.FirstLine(err))
	}
	if strings.HasPrefix(err.Error(), "redis: can't parse") { // with what it has said
		return cli.Fail(cli.ExitUsage, "the program that listens at %s does not answer as Redis does; check the port, or give another Redis with --redis", at)
	}
	program := "redis-server"
	if sentinels {
		program = "the Sentinel or the master that is missing"
	}
	return cli.Fail(cli.ExitUsage, "Redis at %s does not answer: %v; %s", at, NetReason(err), startOrElse(err, f.RedisURL, EmbeddedRedisAddr, program, "--redis"))
}

// redisLogger passes on what go-redis says of its connections; what its calls meet, their callers
// say themselves.
type redisLogger struct{ log *slog.Logger }

// Printf is what go-redis calls.
func (l redisLogger) Printf(ctx context.Context, format string, v ...any) {
	l.log.LogAttrs(ctx, slog.LevelDebug, "redis client", slog.String("says", fmt.Sprintf(format, v...)))
}
