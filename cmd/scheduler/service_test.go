package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/audit"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
)

// alone is a scheduler with servers of its own, and where those are.
func alone(t testing.TB, args ...string) (s *process, at []string) {
	t.Helper()
	s = start(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--embedded-redis", "127.0.0.1:0", "--embedded-nats", "127.0.0.1:0"}, args...)...)
	s.is(200, `"status":"ok"`)
	return s, []string{"--redis", s.says(`Redis at (redis://\S+),`), "--nats", s.says(`NATS at (nats://\S+)\n`)}
}

// client runs a command against the servers that at names, and returns what it said.
func client(t testing.TB, code int, at []string, args ...string) *process {
	t.Helper()
	p := start(t, append(args, at...)...)
	p.ends(code)
	return p
}

// knows waits until the snapshot of the workers names one: until then jobs go to those that the scheduler
// has heard of, and one that has stopped counts among them for a while.
func knows(t testing.TB, at []string, worker string) {
	t.Helper()
	opt, err := redis.ParseURL(at[1])
	require.NoError(t, err)
	c := redis.NewClient(opt)
	defer func() { assert.NoError(t, c.Close()) }()
	require.Eventually(t, func() bool {
		return strings.Contains(c.Get(t.Context(), "sys:workers:snapshot").Val(), `"`+worker+`"`)
	}, 2*time.Minute, 50*time.Millisecond, "the snapshot does not name %s", worker)
}

// A person can watch it work with nothing installed.
func TestASchedulerWithServersOfItsOwn(t *testing.T) {
	s, at := alone(t, "--id", "scheduler-1", "--topic", "job.default=default", "--topic", "job.idle=idle", "--log-format", "json")
	s.says(`scheduler submit --jobs 10 --wait --redis redis://127\.0\.0\.1:\d+/0 --nats nats://127\.0\.0\.1:\d+\n`)
	client(t, cli.ExitViolated+1, at, "cancel", "job-1").says(`holds no job "job-1"`)
	client(t, cli.ExitInconclusive, at, "audit").says(`INCONCLUSIVE  the servers hold nothing`)
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	w := start(t, "worker", "--id", "worker-1", "--ledger", ledger, "--heartbeat", "200ms", at[2], at[3])

	submit := client(t, cli.ExitHeld, at, "submit", "--jobs", "20", "--id-prefix", "job-", "--wait")
	assert.Equal(t, "Submitted 20 jobs: job-1 to job-20\n20 SUCCEEDED\n", submit.output())
	again := client(t, cli.ExitHeld, at, "submit", "--jobs", "20", "--id-prefix", "job-", "--wait")
	again.says(`^Submitted 20 jobs: job-1 to job-20\n  20 of them existed already, with the same request, such as job-1: it is SUCCEEDED, since \S+Z\n20 SUCCEEDED\n$`)
	var printed struct {
		Version int
		Jobs    []ending
	}
	one := client(t, cli.ExitHeld, at, "submit", "--id", "mail-17", "--payload", `{"to": "you"}`, "--deadline", "1h", "--wait", "--json")
	require.NoError(t, json.Unmarshal([]byte(one.output()), &printed), one.output())
	assert.Equal(t, []ending{{Job: "mail-17", State: "SUCCEEDED", Attempts: 1, Worker: "worker-1"}}, printed.Jobs)
	same := client(t, cli.ExitHeld, at, "submit", "--id", "mail-17", "--payload", `{"to":"you"}`, "--deadline", "1h", "--wait")
	same.says(`^mail-17 exists already, since \S+Z, with the same request: it is SUCCEEDED\n1 SUCCEEDED\n$`)
	other := client(t, cli.ExitUsage, at, "submit", "--id", "mail-17", "--payload", `{"to": "me"}`, "--deadline", "1h", "--wait")
	other.says(`^scheduler: mail-17 exists already, since \S+Z, with another payload: it is SUCCEEDED, and is not changed; nothing was submitted: give another id, or the payload of that job\n$`)
	client(t, cli.ExitUsage, at, "submit", "--id", "mail-17", "--payload", `{"to": "you"}`).says(`with another request: `)
	client(t, cli.ExitUsage, at, "submit", "--id-prefix", "job-", "--jobs", "21", "--label", "zone=a").says(`^scheduler: job-1 exists already, .* with another request: `)
	client(t, cli.ExitUsage, at, "show", "job-21").says(`holds no job "job-21"`)
	client(t, cli.ExitViolated, at, "cancel", "mail-17").says(`^scheduler: mail-17 has ended already: it is SUCCEEDED\n$`)
	client(t, cli.ExitInconclusive, at, "submit", "--id", "idle", "--topic", "job.idle", "--wait", "--timeout", "1s").says(`1 SCHEDULED`)
	client(t, cli.ExitHeld, at, "cancel", "idle") // an audit is of data at rest
	s.eventually("the end of idle", func() bool {
		return strings.Contains(client(t, cli.ExitHeld, at, "show", "idle").output(), "CANCELLED")
	})
	client(t, cli.ExitHeld, at, "audit").says(`(?m)^HELD `)
	w.stops()
	assert.Len(t, executions(t, ledger), 21)
	assert.Contains(t, w.output(), "Worker worker-1 has stopped; it executed 21 jobs.\n")

	start(t, "worker", "--id", "worker-2", "--fail-rate", "1", "--heartbeat", "200ms", at[2], at[3])
	knows(t, at, "worker-2")
	bad := client(t, cli.ExitViolated, at, "submit", "--id", "bad", "--label", "preferred_worker_id=worker-2", "--wait")
	bad.says(`(?m)^1 FAILED\n  bad is FAILED \(.*: the worker was told to fail`)
	client(t, cli.ExitViolated, at, "cancel", "bad").says(`^scheduler: bad has ended already: it is FAILED\n$`)
	s.stops()
	s.says(`"msg":"job completed"`)
	temp, err := filepath.Glob(filepath.Join(s.temp, "*"))
	require.NoError(t, err)
	assert.Empty(t, temp, "nothing temporary is left")
}

// Who asks for servers of the process's own gets them, whatever the environment names.
func TestAFlagWinsOverTheEnvironment(t *testing.T) {
	t.Setenv(servers.EnvRedis, "redis://127.0.0.1:1/0")
	t.Setenv(servers.EnvNATS, "nats://127.0.0.1:1")
	s, at := alone(t)
	s.says(`scheduler worker --redis redis://127\.0\.0\.1:\d+/0 --nats nats://127\.0\.0\.1:\d+\n`)
	client(t, cli.ExitHeld, at, "submit", "--id", "job-1")
	client(t, cli.ExitUsage, nil, "serve", "--listen", "none", "--embedded-nats", "127.0.0.1:0").says(`^scheduler: Redis at redis://127\.0\.0\.1:1/0 does not answer: `)
}

// A worker that stops says what stays queued for it, and the next one of its name executes that.
func TestAWorkerThatStopsSaysWhatIsLeft(t *testing.T) {
	_, at := alone(t)
	worker := func(work string) *process {
		return start(t, "worker", "--id", "e1", "--parallel", "1", "--work", work, at[2], at[3])
	}
	w := worker("1s")
	knows(t, at, "e1")
	jobs := append([]string{"submit", "--jobs", "10", "--id-prefix", "job-"}, at...)
	start(t, jobs...).ends(cli.ExitHeld)
	c := dial(t, at[1])
	w.eventually("be given all", func() bool {
		// A job is RUNNING once it is published. Who succeeds between the two reads is counted in neither.
		succeeded := c.ZCard(t.Context(), "job:index:SUCCEEDED").Val()
		return succeeded+c.ZCard(t.Context(), "job:index:RUNNING").Val() == 10
	})
	w.stops()
	executed, err := strconv.Atoi(w.says(`Worker e1 has stopped; it executed (\d+) jobs?\.\n`))
	require.NoError(t, err)
	assert.Less(t, executed, 10)
	assert.Contains(t, w.output(), fmt.Sprintf("\n  Messages that are left for it: %d. Start a worker with --id e1 again; otherwise the jobs that it has not executed end TIMEOUT at a tick of the reconciler.\n", 10-executed))
	client(t, cli.ExitHeld, at, "show", "job-10").says(`(?m)^  Its worker was given it, and has not reported a result\.\n  The schedulers heard of e1 \d+s ago\.$`)

	w = worker("1ms")
	start(t, append(jobs, "--wait")...).ends(cli.ExitHeld)
	w.stops()
	assert.NotContains(t, w.output(), "left for it")
}

// What no message can take is refused, and nothing of it is stored.
func TestAJobThatIsTooLarge(t *testing.T) {
	_, at := alone(t)
	f := servers.Flags{RedisURL: at[1], NATSURL: at[3]}
	c, err := f.Connect(t.Context(), "test", servers.Writes)
	require.NoError(t, err)
	defer c.Close()
	large := &submitFlags{Flags: f, jobs: 1, id: "large", topic: "job.default", payload: `"` + strings.Repeat("x", 1<<20) + `"`, wait: true}
	err = large.run(t.Context(), io.Discard, io.Discard, func(string) bool { return false })
	var ee *cli.Error
	require.ErrorAs(t, err, &ee)
	assert.Equal(t, cli.ExitUsage, ee.Code)
	assert.Regexp(t, `^submit large: the request is too large for NATS: it has 1048\d{3} bytes, .* the server takes 1048576 in one message \(max_payload\); 0 of 1 job submitted: give less with each`, err)
	client(t, cli.ExitUsage, at, "show", "large").says(`holds no job "large"`)
}

// A job whose record Redis has lost is said to have none, by the one who waits for it.
func TestARecordThatIsLost(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer func() { assert.NoError(t, c.Close()) }()
	require.NoError(t, c.HSet(t.Context(), "job:job-2", "state", "SUCCEEDED").Err())
	var told, said strings.Builder
	list, late, err := awaitJobs(t.Context(), c, []string{"job-1", "job-2"}, time.Second, cli.NewProgress(io.Discard, true), &told)
	require.NoError(t, err)
	assert.Contains(t, told.String(), ": job-1 has no record any more: Redis has lost it; still waiting\n")
	err = conclude(cli.NewPrinter(&said), list, late)
	assert.EqualError(t, err, "--timeout, 1s, came first: 1 of 2 jobs ended")
	assert.Equal(t, "1 SUCCEEDED, 1 without a record\n  job-1 has no record any more: Redis has lost it\n", said.String())
}

// The depth of the dead-letter queue is what a scrape finds, whether dead letters are replayed or not.
func TestDLQDepth(t *testing.T) {
	s, at := alone(t)
	metrics := strings.Replace(s.says(`(http://\S+)/healthz`), "/healthz", "", 1) + "/metrics"
	depth := func(want string) {
		s.eventually("have dlq_depth "+want, func() bool {
			_, body := s.get(metrics)
			return strings.Contains(body, "\ndlq_depth "+want+"\n")
		})
	}
	depth("0")
	client(t, cli.ExitViolated, at, "submit", "--topic", "job.nowhere", "--jobs", "3", "--wait").says(`3 FAILED`)
	depth("3")
}

// A cancelled job is dropped by its worker, in the middle and before it begins.
func TestCancel(t *testing.T) {
	s, at := alone(t)
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	worker := func() *process {
		return start(t, "worker", "--id", "worker-1", "--work", "1h", "--heartbeat", "200ms", "--ledger", ledger, at[2], at[3])
	}
	submit := func(id string) {
		client(t, cli.ExitHeld, at, "submit", "--id", id)
		s.says(`msg="job dispatched".* job_id=` + id)
	}
	w := worker()
	submit("begun")
	w.eventually("begin", func() bool { return state(t, at, "begun") == "RUNNING" })
	client(t, cli.ExitHeld, at, "cancel", "begun", "--reason", "by hand").says(`Asked for begun, which is RUNNING, to be cancelled`)
	w.says(`msg="dropped: the job is cancelled" .*job_id=begun`)
	w.dies()

	submit("waiting") // for a worker of which nobody knows yet that it is dead
	client(t, cli.ExitHeld, at, "cancel", "waiting")
	s.eventually("cancel", func() bool { return state(t, at, "waiting") == "CANCELLED" })
	w = worker()
	w.says(`msg="dropped: the job is cancelled" .*job_id=waiting`)
	client(t, cli.ExitViolated, at, "submit", "--id", "waiting", "--wait").says(`1 CANCELLED`)
	client(t, cli.ExitHeld, at, "cancel", "waiting").says(`^waiting has ended already: it is CANCELLED\n$`)
	w.stops()
	assert.Empty(t, executions(t, ledger), "what is cancelled has no effect")
}

// state is that of a job that was submitted.
func state(t *testing.T, at []string, id string) string {
	t.Helper()
	p := start(t, append([]string{"submit", "--id", id, "--wait", "--timeout", "1ms"}, at...)...)
	<-p.done
	return p.says(`(?m)^1 (\w+)`)
}

// Two signals in one moment, as timeout(1) sends them, are one: a worker finishes what it has begun.
func TestTwoSignalsAtOnceAreOne(t *testing.T) {
	s, at := alone(t)
	w := start(t, "worker", "--id", "worker-1", "--work", "3s", "--heartbeat", "200ms", at[2], at[3])
	client(t, cli.ExitHeld, at, "submit", "--id", "short")
	s.says(`msg="job dispatched".* job_id=short`)
	w.eventually("begin", func() bool { return state(t, at, "short") == "RUNNING" })
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	time.Sleep(10 * time.Millisecond) // else the system itself makes one of them
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	w.ends(cli.ExitHeld)
	w.says(`Worker worker-1 has stopped; it executed 1 job\.`)
}

// The first signal lets a worker finish, the second does not.
func TestASecondSignalEndsAtOnce(t *testing.T) {
	s, at := alone(t)
	w := start(t, "worker", "--id", "worker-1", "--work", "1h", "--heartbeat", "200ms", at[2], at[3])
	client(t, cli.ExitHeld, at, "submit", "--id", "long")
	s.says(`msg="job dispatched".* job_id=long`)
	w.eventually("begin", func() bool { return state(t, at, "long") == "RUNNING" })
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	time.Sleep(2 * cli.OneInterrupt)
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))
	w.ends(cli.ExitInterrupted)
	w.says(`(?m)^scheduler: interrupted twice; ended at once$`)
}

// A scheduler that begins to listen while a worker stops hears of it.
func TestAFarewellIsRepeated(t *testing.T) {
	_, at := alone(t)
	nc, err := nats.Connect(at[3])
	require.NoError(t, err)
	defer nc.Close()
	farewell := func(sub *nats.Subscription) {
		t.Helper()
		for h := (job.Heartbeat{}); h.ActiveJobs == 0; {
			msg, err := sub.NextMsg(generous)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(msg.Data, &h))
		}
	}
	first, err := nc.SubscribeSync(bus.SubjectHeartbeat)
	require.NoError(t, err)
	w := start(t, "worker", "--id", "worker-1", at[2], at[3])
	_, err = first.NextMsg(generous)
	require.NoError(t, err)
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	farewell(first)
	late, err := nc.SubscribeSync(bus.SubjectHeartbeat)
	require.NoError(t, err)
	farewell(late)
	w.ends(cli.ExitHeld)
}

// There is one worker of a name at a time.
func TestAWorkersNameIsItsOwn(t *testing.T) {
	_, at := alone(t)
	w := start(t, "worker", "--id", "worker-1", at[2], at[3])
	w.says(`Worker worker-1 of pool`)
	client(t, cli.ExitUsage, at[2:], "worker", "--id", "worker-1").says("^scheduler: a worker called worker-1 is alive already, and one would get the other's jobs; give this worker another name with --id\n$")
	w.dies()
	start(t, "worker", "--id", "worker-1", at[2], at[3]).says(`Worker worker-1 of pool`)
}

// Of two workers that start under one name at the same time, both do not live.
func TestANameIsClaimedOnce(t *testing.T) {
	url := startNATS(t, freeAddr(t), t.TempDir()).ClientURL()
	connect := func() *nats.Conn {
		nc, err := nats.Connect(url, nats.NoEcho())
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		return nc
	}
	one, other := connect(), connect()
	for i := range 20 {
		id := fmt.Sprintf("worker-%d", i)
		refused := make(chan error, 1)
		go func() { refused <- claim(t.Context(), one, id) }()
		err := claim(t.Context(), other, id)
		require.Error(t, cmp.Or(err, <-refused), id)
	}
	require.NoError(t, claim(t.Context(), one, "alone"))
	require.Error(t, claim(t.Context(), other, "alone"))
}

// What is in the way of a start is one line, and nothing is left behind.
func TestAnAddressThatIsTaken(t *testing.T) {
	s, at := alone(t)
	taken := s.says(`http://(\S+)/healthz`)
	for _, c := range []struct{ flag, says string }{
		{"--listen", `^scheduler: cannot listen on ` + taken + `: address already in use; give another address with --listen, or --listen none\n$`},
		{"--embedded-redis", `^scheduler: cannot listen on ` + taken + ` for this process's own server: address already in use; give another address with --embedded-redis, or a running server with --redis\n$`},
		{"--embedded-nats", `^scheduler: cannot listen on ` + taken + ` for this process's own server: address already in use; give another address with --embedded-nats, or a running server with --nats\n$`},
	} {
		p := start(t, "serve", "--embedded-redis", "127.0.0.1:0", "--embedded-nats", "127.0.0.1:0", "--listen", "none", c.flag, taken)
		p.ends(cli.ExitUsage)
		p.says(c.says)
		left, err := filepath.Glob(filepath.Join(p.temp, "*"))
		require.NoError(t, err)
		assert.Empty(t, left)
	}
	two := start(t, append([]string{"serve", "--id", "scheduler-2", "--listen", "none"}, at...)...)
	two.says(`Scheduler scheduler-2, `)
	two.stops()
}

// An audit finds what is wrong in servers that somebody meddled with, and says it.
func TestAuditFindsWhatIsWrong(t *testing.T) {
	_, at := alone(t)
	start(t, "worker", "--id", "worker-1", "--heartbeat", "200ms", at[2], at[3])
	client(t, cli.ExitHeld, at, "submit", "--jobs", "3", "--id-prefix", "job-", "--wait")
	held := client(t, cli.ExitHeld, at, "audit", "--settled")
	held.says(`(?m)^HELD  all \d+ invariants that the servers' data can show hold\n  jobs: 3 SUCCEEDED; \d+ keys, 9 messages$`)
	held.says(`(?m)^  one-dispatch-per-job +held +3 times$`)
	held.says(`(?m)^  Not read: sagas' stacks, findings on outputs, tenants' jobs in flight, and the audit trail\.$`)
	held.says(`(?m)^Judged in part\n(  .*\n)*  attempts-equal-scheduled-writes: No stored dispatch is of an attempt that its job's record has not counted\.\n`)

	f := servers.Flags{RedisURL: at[1], NATSURL: at[3]}
	c, err := f.Connect(t.Context(), "test", servers.Writes)
	require.NoError(t, err)
	defer c.Close()
	stream, err := c.JS.Stream(t.Context(), "CORDUM_JOBS")
	require.NoError(t, err)
	dispatch, err := stream.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	header := nats.Header{} // without what makes the publish a compare-and-set
	for _, h := range []string{job.Header, job.HeaderEpoch} {
		header.Set(h, dispatch.Header.Get(h))
	}
	_, err = c.JS.PublishMsg(t.Context(), &nats.Msg{Subject: dispatch.Subject, Header: header, Data: dispatch.Data})
	require.NoError(t, err)
	require.NoError(t, c.Redis.HSet(t.Context(), "job:job-2", "state", "FAILED").Err())

	found := client(t, cli.ExitViolated, at, "audit", "--settled")
	found.says(`(?m)^VIOLATED  .*one-dispatch-per-job`)
	found.says(`(?m)^  one-dispatch-per-job: job-\d: another dispatch of epoch 1 stored, CORDUM_JOBS seq 4 on `)
	found.says(`(?m)^  failed-job-has-dlq-entry: job-2: `)
	require.NoError(t, c.Redis.Set(t.Context(), "job:job-9", "text", 0).Err())
	client(t, cli.ExitViolated, at, "audit").says(`(?m)^  redis-index-agrees-with-record: job-9: job:job-9 is a string, and no scheduler can read it: it must be a hash$`)
	require.NoError(t, c.Redis.Del(t.Context(), "job:job-9").Err())
	var res audit.Result
	asJSON := client(t, cli.ExitViolated, at, "audit", "--settled", "--json")
	require.NoError(t, json.Unmarshal([]byte(asJSON.output()), &res))
	assert.Equal(t, audit.Violated, res.Verdict)
	assert.Equal(t, map[string]int{"SUCCEEDED": 2, "FAILED": 1}, res.States)
	assert.GreaterOrEqual(t, res.Messages, 10) // the worker did it again, maybe not yet
}
