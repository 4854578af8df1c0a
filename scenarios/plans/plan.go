package plans

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/faults"
)

// The strategies of a schedule.
const (
	Latency = "latency"
	Random  = "random"
	PCT     = "pct"
	Bounded = "bounded"
)

// The kinds of Redis of a world.
const (
	RedisMini   = "mini"   // miniredis
	RedisServer = "server" // a redis-server
)

// PlanVersion is the version of the format that this build reads and writes.
const PlanVersion = 1

// Plan is everything that a run depends on besides the build. It is a YAML file, whether written by hand,
// drawn by rapid, shrunk from a failure, or kept as a regression.
type Plan struct {
	Version  int               `yaml:"version" json:"version" doc:"the format of this file, 1"`
	Name     string            `yaml:"name" json:"name" doc:"the name of the plan, in kebab-case"`
	Story    string            `yaml:"story,omitempty" json:"story,omitempty" doc:"what happens, in a few sentences; a run prints it at the top and does not judge it"`
	Preset   string            `yaml:"preset" json:"preset" oneof:"documented,hardened" doc:"the settings of the engine and of its servers to start from"`
	Engine   settings.Settings `yaml:"engine,omitempty" json:"engine" doc:"the schedulers' settings, on top of the preset's"`
	Topology Topology          `yaml:"topology,omitempty" json:"topology" doc:"which nodes there are"`
	World    Conditions        `yaml:"world,omitempty" json:"world" doc:"properties of the world that are not faults"`
	Kernel   Kernel            `yaml:"kernel,omitempty" json:"kernel" doc:"the world's safety kernel, which is also its output policy; a plan without this key has none"`
	Workload Workload          `yaml:"workload,omitempty" json:"workload" doc:"what is submitted"`
	Triage   *dlq.Policy       `yaml:"triage,omitempty" json:"triage,omitempty" doc:"with engine.replay.enabled, the triage policy of the schedulers; if not given, each class of reason codes has its default (Dead letters)"`
	Faults   []faults.Fault    `yaml:"faults,omitempty" json:"faults,omitempty" doc:"what goes wrong, and where"`
	Schedule Schedule          `yaml:"schedule,omitempty" json:"schedule" doc:"how the next step is chosen"`
	Then     Then              `yaml:"then,omitempty" json:"then" doc:"what happens once submissions and faults are over"`
	Expect   Expect            `yaml:"expect,omitempty" json:"expect" doc:"what the plan must show"`
	About    []int             `yaml:"about,omitempty" json:"about,omitempty" doc:"the jobs whose story the result tells; empty: the jobs that faults name"`
	Seed     uint64            `yaml:"seed" json:"seed" doc:"the root of every draw"`

	pinned []string // settings given explicitly with their default value: another preset does not change them
}

// Topology says which nodes there are. Schedulers are named scheduler-1 and so on, workers worker-1 and so
// on.
type Topology struct {
	Schedulers     int           `yaml:"schedulers" json:"schedulers" min:"1" max:"64" doc:"scheduler replicas"`
	Workers        int           `yaml:"workers" json:"workers" min:"1" max:"1000" doc:"workers in the default pool"`
	MaxParallel    int           `yaml:"max_parallel" json:"max_parallel" min:"1" max:"10000" doc:"jobs that a worker executes at once"`
	HeartbeatEvery time.Duration `yaml:"heartbeat_every" json:"heartbeat_every" min:"100ms" max:"1h" doc:"how often a worker sends a heartbeat"`
	Deduplicate    bool          `yaml:"deduplicate" json:"deduplicate" doc:"workers refuse a second execution of a tenant's idempotency key"`
	Ledger         bool          `yaml:"ledger" json:"ledger" doc:"the outside system has a ledger of idempotency keys, which is asked before a replay (engine.replay.check_committed); without a ledger, a replay goes only by what a scheduler has heard"`
	Zones          int           `yaml:"zones" json:"zones" min:"0" max:"1000" doc:"the workers' labels zone and node.zone are zone-1 to zone-<this>, in turn; 0: the workers have no such labels"`
	GPUWorkers     int           `yaml:"gpu_workers" json:"gpu_workers" min:"0" max:"1000" doc:"so many of the workers, those with the highest numbers, are in the pool gpu, which offers gpu; only this pool serves job.gpu, and it serves job.default too"`
	FanOut         bool          `yaml:"fan_out" json:"fan_out" doc:"workers have no subject of their own: a job goes to its topic, and one worker of the pool that serves the topic takes it from there; only the default pool then serves job.default"`
}

// Conditions describe the world besides its faults.
type Conditions struct {
	HeartbeatLag Lag           `yaml:"heartbeat_lag" json:"heartbeat_lag" like:"5s, fixed:5s, uniform:2s:8s, normal:mean=5s:sd=2s, lognormal:median=5s:p99=30s or samples:1s:2s:9s" doc:"how long a heartbeat is under way: each takes a time drawn from this distribution, so one heartbeat may overtake another; a plain duration is a uniform draw from zero to it; 1 % of the draws are above p99"`
	SyncAlways   bool          `yaml:"sync_always" json:"sync_always" doc:"nats-server has each message on its disk before it acknowledges it (sync_interval: always in its configuration): a power loss takes no message"`
	SyncInterval time.Duration `yaml:"sync_interval" json:"sync_interval" min:"1ms" max:"24h" doc:"how often nats-server syncs its streams to its disk (its sync_interval): a power loss takes what it has stored since the last sync"`
	RedisDisk    string        `yaml:"redis_disk" json:"redis_disk" oneof:"always,everysec,no,rdb" doc:"what Redis has on its disk when it dies: always, everysec and no are values of appendfsync: the append-only file is synced before each answer, at each full second, or by the operating system at each half minute; rdb: there is no append-only file, and Redis takes a snapshot after 1 change in an hour, 100 in five minutes or 10,000 in one minute; a kill takes what is in no file, and a power loss also takes what is not synced"`
	SyncTime     time.Duration `yaml:"sync_time" json:"sync_time" min:"0s" max:"1s" doc:"how long a server takes to sync its files before it answers: with redis_disk: always, at each write to Redis; with sync_always, at each message that a stream stores"`
	Start        Instant       `yaml:"start" json:"start" like:"2026-01-01 or 2026-01-01T00:00:00Z" doc:"when the world begins, as its own clocks show; records contain this time"`
	Redis        string        `yaml:"redis" json:"redis" oneof:"mini,server" doc:"the world's Redis: mini is miniredis; server is a redis-server, which must be installed: the program redis-server, or the program that WAVETANK_REDIS_SERVER names"`
	Dying        float64       `yaml:"dying" json:"dying" min:"0" max:"1" doc:"the share of the workers, rounded, that die; each dies at an instant drawn from the time of submissions; then.heal brings them back"`
}

// Workload says what is submitted. Jobs are named job-1 and so on.
type Workload struct {
	Jobs        int                   `yaml:"jobs" json:"jobs" min:"1" max:"100000" doc:"how many jobs are submitted"`
	Every       time.Duration         `yaml:"every" json:"every" min:"1ns" max:"24h" doc:"time between two submissions"`
	Work        time.Duration         `yaml:"work" json:"work" min:"1ns" max:"24h" doc:"how long a worker executes a job"`
	CPU         int                   `yaml:"cpu" json:"cpu" min:"0" max:"100" doc:"the percentage of its worker's CPU that a job takes while it is executed, as heartbeats report it; a worker at 90 is overloaded (Scheduler internals, section 5)"`
	GPU         int                   `yaml:"gpu" json:"gpu" min:"0" max:"100" doc:"the percentage of its worker's GPU that a job takes while it is executed, as heartbeats report it"`
	Submissions int                   `yaml:"submissions" json:"submissions" min:"1" max:"10" doc:"how often each job is submitted, each time under the same id: clients retry"`
	Tries       int                   `yaml:"tries" json:"tries" min:"0" max:"1000" doc:"how often a client tries a submission before it gives up; 0: it tries until it succeeds"`
	Tenants     int                   `yaml:"tenants" json:"tenants" min:"1" max:"1000" doc:"the jobs belong to tenant-1 to tenant-<this>, in turn"`
	SharedKeys  bool                  `yaml:"shared_keys" json:"shared_keys" doc:"the tenants use the same idempotency keys: the k-th job of each tenant has the key key-<k>; a key counts for its tenant alone"`
	Poison      int                   `yaml:"poison" json:"poison" min:"0" max:"1000" doc:"messages on sys.job.submit that nobody can read"`
	Saga        int                   `yaml:"saga" json:"saga" min:"0" max:"1000" doc:"so many consecutive jobs belong to one workflow, wf-1 and so on, and each job leaves a compensation behind; a workflow is separate for each tenant of its jobs; 0: no job belongs to a workflow"`
	Unreadable  int                   `yaml:"unreadable" json:"unreadable" min:"0" max:"1000" doc:"compensations that nobody can read, which the stranger pushes onto the stack of wf-1"`
	Slow        map[int]time.Duration `yaml:"slow,omitempty" json:"slow,omitempty" min:"1ns" max:"24h" doc:"how long a worker executes job N, in place of workload.work"`
	Cancel      map[int]time.Duration `yaml:"cancel,omitempty" json:"cancel,omitempty" min:"1ns" max:"24h" doc:"how long after its submission job N is cancelled"`
	Deadline    map[int]time.Duration `yaml:"deadline,omitempty" json:"deadline,omitempty" min:"1ms" max:"24h" doc:"how long after its submission job N has its deadline (budget.deadline_ms): if the job has not ended by then, the reconciler's next tick times it out"`
	Label       map[int]string        `yaml:"label,omitempty" json:"label,omitempty" like:"placement.zone=zone-2" doc:"the labels of job N, joined by commas (Scheduler internals, section 5)"`
	Requires    map[int]string        `yaml:"requires,omitempty" json:"requires,omitempty" like:"gpu" doc:"what job N requires of a pool, joined by commas (Scheduler internals, section 5)"`
	Approve     map[int]time.Duration `yaml:"approve,omitempty" json:"approve,omitempty" min:"1ms" max:"24h" doc:"how long an approver looks at job N, once it waits for an approval, before the approver approves it"`
	Change      map[int]time.Duration `yaml:"change,omitempty" json:"change,omitempty" min:"1ms" max:"24h" doc:"how long after its submission job N is submitted again, with another payload"`
	Topic       map[int]string        `yaml:"topic,omitempty" json:"topic,omitempty" like:"job.gpu" doc:"the topic of job N, in place of job.default"`
	Answer      map[int]string        `yaml:"answer,omitempty" json:"answer,omitempty" oneof:"FAILED,FAILED_FATAL,NONSENSE" doc:"what the worker of job N answers in place of SUCCEEDED, after the job has had its effect; after FAILED_FATAL the job's workflow is rolled back; NONSENSE is not a status that exists"`

	Runs          int           `yaml:"runs" json:"runs" min:"0" max:"1000" doc:"how many workflow runs are started: run-1 and so on, one each workload.every; if there is one, the schedulers run workflows"`
	Steps         int           `yaml:"steps" json:"steps" min:"1" max:"20" doc:"how many steps a run has; each step is a job; the steps between the first and the last run in parallel"`
	StepDelay     time.Duration `yaml:"step_delay" json:"step_delay" min:"0s" max:"24h" doc:"of the steps between the first and the last, the k-th begins k times this after the first step has succeeded; whole seconds"`
	StepUntil     time.Duration `yaml:"step_until" json:"step_until" min:"0s" max:"24h" doc:"the steps between the first and the last begin no sooner than so long after the world began (delay_until); of two steps, the second does; 0s: they need not wait"`
	LastStepDelay time.Duration `yaml:"last_step_delay" json:"last_step_delay" min:"0s" max:"24h" doc:"of three steps or more, the last begins so long after all other steps have succeeded; whole seconds"`
	StepRetries   int           `yaml:"step_retries" json:"step_retries" min:"0" max:"20" doc:"how often a step is tried again after a failure"`
	StepBackoff   time.Duration `yaml:"step_backoff" json:"step_backoff" min:"0s" max:"1h" doc:"how long after its first failure a step is tried again; the time doubles with each failure"`
	StepFailures  int           `yaml:"step_failures" json:"step_failures" min:"0" max:"20" doc:"how many attempts of each run's second step fail without an effect"`
	StepUndo      bool          `yaml:"step_undo" json:"step_undo" doc:"each step of a run leaves a compensation behind, which is submitted if the run fails; without engine.saga.durable_rollback nobody submits it"`

	Fail          map[int]string        `yaml:"fail,omitempty" json:"fail,omitempty" like:"timeout; twice" doc:"how the executions of job N fail: the reason code that the worker gives, and then any of these, each after a semicolon: once, twice or 3 times: so many executions of the job and its replays fail; committed: the job has its effect although it fails; succeeds after 5s: the worker later reports a success"`
	ApproveReplay map[int]time.Duration `yaml:"approve_replay,omitempty" json:"approve_replay,omitempty" min:"1ns" max:"24h" doc:"the operator approves the replay of job N once it waits for an approval, but no sooner than so long after the job's submission; the operator approves only once"`
	MendReplay    map[int]time.Duration `yaml:"mend_replay,omitempty" json:"mend_replay,omitempty" min:"1ns" max:"24h" doc:"the operator gives the replay of job N another payload once it is quarantined, but no sooner than so long after the job's submission; the operator does so only once"`
	AskReplay     map[int]time.Duration `yaml:"ask_replay,omitempty" json:"ask_replay,omitempty" min:"1ns" max:"24h" doc:"the operator asks for a replay of job N once triage has left its dead letter to a person, but no sooner than so long after the job's submission; the operator asks only once"`
	DenyReplay    map[int]time.Duration `yaml:"deny_replay,omitempty" json:"deny_replay,omitempty" min:"1ns" max:"24h" doc:"the operator denies the replay of job N once its dead letter is triaged, but no sooner than so long after the job's submission, and not if the job has been replayed by then"`
	OperatorOf    map[int]string        `yaml:"operator_of,omitempty" json:"operator_of,omitempty" like:"interns" doc:"the group of the operator who decides on the replay of job N, in place of the group that the triage policy names; an operator who is refused does not try again"`
}

// Schedule says how the stepper chooses.
type Schedule struct {
	Strategy     string `yaml:"strategy" json:"strategy" oneof:"latency,random,pct,bounded" doc:"latency: discrete-event order by drawn latencies; random: by drawn priorities among ready operations; pct: by drawn priorities of actors, which change at a few drawn steps (probabilistic concurrency testing); bounded: the actor that has begun goes on, except at the steps in preemptions"`
	ChangePoints int    `yaml:"change_points" json:"change_points" min:"0" max:"20" doc:"pct: at so many steps the priority of the actor whose turn it is drops below all others; with d-1 change points, n actors and k steps, a run finds a bug of depth d, one that takes d orderings, with a probability of at least 1/(n k^(d-1))"`
	Steps        int    `yaml:"steps" json:"steps" min:"0" max:"1000000000" doc:"pct: the change points are drawn from so many first steps; after these the order is that of random; 0: as many steps as the plan's run takes under random; that run is made first"`
	Preemptions  string `yaml:"preemptions" json:"preemptions" like:"17=scheduler-2,40=scheduler-1/job-1#2" doc:"bounded: the steps at which another actor goes, and which: a node, or a node and the job that it works for; after a #, which of the actor's ready operations"`
	StepsMax     int    `yaml:"steps_max" json:"steps_max" min:"100" max:"1000000000" doc:"a run that needs more steps is inconclusive"`
}

// Then says what happens after the fault window: everything heals, faults stop, and the world has
// SettleWithin, in virtual time, to settle.
type Then struct {
	Heal         bool          `yaml:"heal" json:"heal" doc:"after the last fault, partitions end and crashed nodes restart"`
	SettleWithin time.Duration `yaml:"settle_within" json:"settle_within" min:"1s" max:"720h" doc:"the virtual time that the world has to settle once submissions and faults are over"`
}

// Expect says what the plan is to show, under its own preset and maybe under the other. If Changed is not
// empty, story and expectations were written for the plan without those changes: the folder of a run stores
// them with the plan that was run.
type Expect struct {
	Violates   []string  `yaml:"violates,omitempty" json:"violates,omitempty" doc:"invariants that this plan breaks"`
	Sometimes  []string  `yaml:"sometimes,omitempty" json:"sometimes,omitempty" doc:"situations that this plan must reach"`
	Judged     []string  `yaml:"judged,omitempty" json:"judged,omitempty" doc:"invariants that are judged even outside of their promise, and need not break"`
	Documented *Expected `yaml:"documented,omitempty" json:"documented,omitempty" doc:"what the plan must show under the preset documented, if that is not the plan's own preset"`
	Hardened   *Expected `yaml:"hardened,omitempty" json:"hardened,omitempty" doc:"what the plan must show under the preset hardened, if that is not the plan's own preset"`
	Changed    []string  `yaml:"changed,omitempty" json:"changed,omitempty" like:"engine.fence=false" doc:"what was changed in the plan, as --set takes it: expectations, and faults that find nothing to strike under the changed settings, are then reported and not judged"`
}

// Expected is what a plan expects under one preset. An invariant in Violates is judged whatever its promise.
// If a run of the unmodified plan does not violate it, the run is inconclusive.
type Expected struct {
	Violates  []string `yaml:"violates,omitempty" json:"violates,omitempty" doc:"invariants that this plan breaks"`
	Sometimes []string `yaml:"sometimes,omitempty" json:"sometimes,omitempty" doc:"situations that this plan must reach"`
	Judged    []string `yaml:"judged,omitempty" json:"judged,omitempty" doc:"invariants that are judged even outside of their promise, and need not break"`
	Told      bool     `yaml:"told,omitempty" json:"told,omitempty" doc:"the plan's story comes about under this preset, too"`
}

// Presets lists the presets.
func Presets() []string { return []string{PresetDocumented, PresetHardened} }
