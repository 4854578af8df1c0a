package plans

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

func TestParseLaysKeysOverDefaults(t *testing.T) {
	p, err := Parse("p.yaml", []byte("name: small\n"))
	require.NoError(t, err)
	want := Defaults()
	want.Name = "small"
	assert.Equal(t, want, p)

	p, err = Parse("p.yaml", []byte(`
name: all-keys
story: >
  Everything
  is given.
preset: documented
engine: {read_error: fail-open, backoff_max: 1m}
topology: {schedulers: 1, workers: 2, max_parallel: 3, heartbeat_every: 1s, deduplicate: true, zones: 2, gpu_workers: 1}
workload: {jobs: 4, every: 1s, work: 1m30s, tries: 2, tenants: 2, shared_keys: true, poison: 1, saga: 2, unreadable: 1, slow: {3: 15m}, cancel: {4: 2s}, deadline: {1: 10s}, answer: {4: FAILED_FATAL}, label: {2: placement.zone=zone-2}, requires: {2: gpu}, approve: {3: 5s}, change: {3: 2s}, topic: {2: job.gpu}, fail: {2: timeout; twice}, approve_replay: {2: 1m}}
triage:
  version: v1
  dlq_rules:
    - {match: {reason_code: timeout}, action: auto_replay, max_replays: 2}
faults:
  - on: {job: 3, phase: publish, occurrence: 2, node: scheduler-1}
    do: fail-after
    times: 2
  - on: {phase: heartbeat}
    do: lose
    rate: 0.5
  - after: {phase: dispatched_write}
    do: crash
    node: actor
    restart_in: 30s
  - {at: 5s, do: partition, node: worker-1, from: heartbeats, for: 1m}
schedule: {strategy: random, steps_max: 5_000}
then: {heal: false, settle_within: 1h}
about: [3, 1]
seed: 18446744073709551615
`))
	require.NoError(t, err)
	documented := Defaults()
	documented.TakePreset(PresetDocumented)
	engineSettings := documented.Engine
	engineSettings.ReadError, engineSettings.BackoffMax = settings.FailOpen, time.Minute
	assert.Equal(t, &Plan{
		Version: 1, Name: "all-keys", Story: "Everything is given.", Preset: "documented", Engine: engineSettings,
		Topology: Topology{1, 2, 3, time.Second, true, true, 2, 1, false},
		World:    documented.World,
		Kernel:   Kernel{Default: "none"},
		Workload: Workload{
			Jobs: 4, Every: time.Second, Work: 90 * time.Second, Submissions: 1, Tries: 2, Tenants: 2, SharedKeys: true, Poison: 1, Saga: 2, Unreadable: 1,
			Slow: map[int]time.Duration{3: 15 * time.Minute}, Cancel: map[int]time.Duration{4: 2 * time.Second}, Deadline: map[int]time.Duration{1: 10 * time.Second},
			Label: map[int]string{2: "placement.zone=zone-2"}, Requires: map[int]string{2: "gpu"}, Approve: map[int]time.Duration{3: 5 * time.Second}, Change: map[int]time.Duration{3: 2 * time.Second},
			Topic: map[int]string{2: "job.gpu"}, Answer: map[int]string{4: "FAILED_FATAL"},
			Steps: 3, StepBackoff: 5 * time.Second,
			Fail: map[int]string{2: "timeout; twice"}, ApproveReplay: map[int]time.Duration{2: time.Minute},
		},
		Triage: &dlq.Policy{Version: "v1", Rules: []dlq.Rule{{Match: dlq.Match{ReasonCode: "timeout"}, Action: dlq.AutoReplay, MaxReplays: 2}}},
		Faults: []faults.Fault{
			{On: &faults.Match{Job: 3, Phase: "publish", Occurrence: 2, Node: "scheduler-1"}, Do: faults.FailAfter, Times: 2},
			{On: &faults.Match{Phase: "heartbeat"}, Do: faults.Lose, Rate: 0.5},
			{After: &faults.Match{Phase: "dispatched_write"}, Do: faults.Crash, Node: "actor", RestartIn: 30 * time.Second},
			{At: 5 * time.Second, Do: faults.Partition, Node: "worker-1", From: "heartbeats", For: time.Minute},
		},
		Schedule: Schedule{Strategy: Random, ChangePoints: 2, StepsMax: 5000}, Then: Then{false, time.Hour}, About: []int{3, 1}, Seed: 1<<64 - 1,
	}, p)
}

func TestStepsMaxGrowsWithJobs(t *testing.T) {
	p, err := Parse("p.yaml", []byte("name: x\nworkload: {jobs: 100000}\n"))
	require.NoError(t, err)
	assert.Equal(t, 100_000_000, p.Schedule.StepsMax)
}

// Every refusal is one line that says where, what and what would be right.
func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "name: x\ntopolgy: {}\n", `p.yaml:2:1: unknown key "topolgy" in a plan (did you mean "topology"?); known are version, name, story, preset, engine, topology, world, kernel, workload, triage, faults, schedule, then, expect, about, seed`},
		{"outcome said twice", "name: x\nworkload:\n  fail: {1: timeout; committed; committed}\n", `p.yaml:3:13: workload.fail.1 is "timeout; committed; committed"; say "committed" once`},
		{"strategy", "name: x\nschedule: {strategy: ptc}\n", `p.yaml:2:22: schedule.strategy is "ptc"; it must be latency, random, pct or bounded (did you mean "pct"?)`},
		{"change points", "name: x\nschedule: {strategy: pct, change_points: 21}\n", `p.yaml:2:42: schedule.change_points is 21, out of range; give 0 to 20`},
		{"pre-emption without a step", "name: x\nschedule: {strategy: bounded, preemptions: scheduler-2}\n", `p.yaml:2:44: schedule.preemptions is "scheduler-2": "scheduler-2" is no step and whose turn it becomes; give rising steps, each with the actor that goes, as in 17=scheduler-2,40=scheduler-1/job-1#2`},
		{"pre-emptions in no order", "name: x\nschedule: {strategy: bounded, preemptions: '17=scheduler-2,17=scheduler-1'}\n", `p.yaml:2:44: schedule.preemptions is "17=scheduler-2,17=scheduler-1": the steps do not rise from 1; give rising steps`},
		{"pre-emption of nobody", "name: x\nschedule: {strategy: bounded, preemptions: 17=schedular-2}\n", `p.yaml:2:44: there is no node "schedular-2"; the nodes are scheduler-1, scheduler-2, worker-1, worker-2, worker-3, submitter (did you mean "scheduler-2"?)`},
		{"two numbers of failures", "name: x\nworkload:\n  fail: {1: timeout; twice; 3 times}\n", `p.yaml:3:13: workload.fail.1 is "timeout; twice; 3 times"; say "twice" or "3 times", not both`},
		{"operator of no group", "name: x\nworkload:\n  operator_of: {1: ' '}\n", `p.yaml:3:20: workload.operator_of.1 is empty; name a group, such as interns, or leave the key out`},
		{"unknown key below", "name: x\nworkload:\n  job: 3\n", `p.yaml:3:3: unknown key "job" in workload (did you mean "jobs"?); known are jobs, every, work, cpu, gpu, submissions, tries, tenants, shared_keys, poison, saga, unreadable, slow, cancel, deadline, label, requires, approve, change, topic, answer, runs, steps, step_delay, step_until, last_step_delay, step_retries, step_backoff, step_failures, step_undo, fail, approve_replay, mend_replay, ask_replay, deny_replay, operator_of`},
		{"unknown engine key", "name: x\nengine: {max_dispatch_retrys: 3}\n", `p.yaml:2:10: unknown key "max_dispatch_retrys" in engine \(did you mean "max_dispatch_retries"\?\); ` + "`wavetank explain engine`" + ` lists`},
		{"text for a number", "name: x\nworkload: {jobs: many}\n", `p.yaml:2:18: workload.jobs is "many", not an integer; give 1 to 100000`},
		{"too many", "name: x\nworkload: {jobs: 1000000000000}\n", `p.yaml:2:18: workload.jobs is 1000000000000, out of range; give 1 to 100000`},
		{"no times", "name: x\nfaults:\n  - {on: {phase: publish}, do: fail-before, times: 0}\n", `p.yaml:3:52: faults[0].times is 0, out of range; give 1 to 1000000`},
		{"no occurrence", "name: x\nfaults:\n  - {on: {phase: publish, occurrence: 0}, do: fail-before}\n", `p.yaml:3:39: faults[0].on.occurrence is 0, out of range; give 1 to 1000000`},
		{"zero", "name: x\nworkload: {jobs: 0}\n", `p.yaml:2:18: workload.jobs is 0, out of range`},
		{"number for a mapping", "name: x\nworkload: 3\n", `p.yaml:2:11: workload is not a mapping; give keys such as jobs, every, work`},
		{"name for a job's number", "name: x\nworkload: {slow: {job-3: 15m}}\n", `p.yaml:2:19: "job-3" in workload.slow is not a number`},
		{"situation under violates", "name: x\nexpect: {violates: [ack-lost]}\n", `p.yaml:2:21: ack-lost is a situation, which a run reaches; it is not a promise that a run can violate; put it under sometimes`},
		{"promise under sometimes", "name: x\nexpect: {sometimes: [one-dispatch-per-job]}\n", `p.yaml:2:22: one-dispatch-per-job is a promise, not a situation that a run reaches; put it under violates`},
		{"slow out of range", "name: x\nworkload: {slow: {3: 25h}}\n", `p.yaml:2:22: workload.slow.3 is 25h, out of range; give a duration`},
		{"choice", "name: x\nengine: {read_error: fail-opn}\n", `p.yaml:2:22: engine.read_error is "fail-opn"; it must be fail-closed, fail-open or cached-state (did you mean "fail-open"?)`},
		{"preset", "name: x\npreset: documentd\n", `p.yaml:2:9: preset is "documentd"; it must be documented or hardened (did you mean "documented"?)`},
		{"negative seed", "name: x\nseed: -1\n", `p.yaml:2:7: seed is "-1", out of range; give 0 to 18446744073709551615`},
		{"version", "version: 2\nsomething: new\n", `p.yaml:1:10: the plan's format is version 2; this build reads version 1`},
		{"no name", "seed: 1\n", `p.yaml: the plan has no name; add name: with words such as publish-failure`},
		{"name", "name: My Plan\n", `p.yaml:1:7: the name "My Plan" is not in kebab-case`},
		{"name that is a path", "name: ../x\n", `p.yaml:1:7: the name "../x" is not in kebab-case`},
		{"story of lines", "name: x\nstory: \"a\\nb\"\n", `p.yaml:2:8: the story is not one line of text`},
		{"story that turns", "name: x\nstory: \"a \u202eb\"\n", `p.yaml:2:8: the story has an invisible character that changes the direction of its text`},
		{"story with a line separator", "name: x\nstory: \"a\u2028b\"\n", `p.yaml:2:8: the story is not one line of text`},
		{"list", "- name: x\n", `p.yaml:1:1: a plan is not a mapping; give keys such as version, name, story`},
		{"word", "hello\n", `p.yaml:1:1: a plan is not a mapping; give keys such as version, name, story`},
		{"empty", "", `p.yaml: this is empty; a plan has at least a name`},
		{"submissions past a year", "name: x\nworkload: {jobs: 100000, every: 24h}\n", `p.yaml:2:33: the last of 100000 jobs would be submitted after 2399976h; submit all of them within 8760h`},
		{"cancelled job that is not there", "name: x\nworkload: {cancel: {11: 2s}}\n", `p.yaml:2:25: there is no job 11; the workload has jobs 1 to 10`},
		{"deadline of a job that is not there", "name: x\nworkload: {deadline: {0: 2s}}\n", `p.yaml:2:26: there is no job 0; the workload has jobs 1 to 10`},
		{"topic timeouts that are none", "name: x\nengine: {topic_timeouts: job.fast}\n", `p.yaml:2:26: engine.topic_timeouts is "job.fast"; give topics, each once, with a duration from 1s on, as in job.fast=20s,job.slow=10m`},
		{"no canceller", "name: x\nfaults: [{at: 5s, do: crash, node: canceller}]\n", `p.yaml:2:36: unknown node "canceller"; the nodes are scheduler-1`},
		{"slow job that is not there", "name: x\nworkload: {slow: {11: 15m}}\n", `p.yaml:2:23: there is no job 11; the workload has jobs 1 to 10`},
		{"back-off", "name: x\nengine: {backoff_base: 1m}\n", `p.yaml:2:24: engine.backoff_base is 1m, longer than engine.backoff_max; give at most 30s`},
		{"about", "name: x\nabout: [1, 11]\n", `p.yaml:2:12: there is no job 11; the workload has jobs 1 to 10`},
		{"about twice", "name: x\nabout: [1, 1]\n", `p.yaml:2:12: job 1 is listed twice`},
		{"preset's situation", "name: x\nexpect: {documented: {violates: [ack-lost]}}\n", `p.yaml:2:34: ack-lost is a situation, which a run reaches; it is not a promise that a run can violate; put it under sometimes`},
		{"own preset twice", "name: x\nexpect: {violates: [one-dispatch-per-job], hardened: {sometimes: [ack-lost]}}\n", `p.yaml:2:54: expect.hardened is given twice: hardened is the plan's own preset; put all of it under expect.hardened`},
		{"invariant", "name: x\nexpect: {violates: [one-dispatch-per-jobb]}\n", "p.yaml:2:21: unknown invariant \"one-dispatch-per-jobb\"; `wavetank list invariants` names them (did you mean \"one-dispatch-per-job\"?)"},
		{"invariant twice", "name: x\nexpect: {violates: [one-dispatch-per-job, one-dispatch-per-job]}\n", `p.yaml:2:43: one-dispatch-per-job is listed twice`},
		{"phase", "name: x\nfaults:\n  - on: {job: 3, phase: publsh}\n    do: hang\n", "p.yaml:3:25: unknown phase \"publsh\"; `wavetank list faults` names the phases (did you mean \"publish\"?)"},
		{"phase missing", "name: x\nfaults:\n  - on: {job: 3}\n    do: hang\n", `p.yaml:3:9: the phase is missing; say which operation`},
		{"effect", "name: x\nfaults:\n  - {on: {phase: publish}, do: fail-befor}\n", `p.yaml:3:32: unknown fault "fail-befor"; do is one of .* \(did you mean "fail-before"\?\)`},
		{"effect missing", "name: x\nfaults:\n  - on: {phase: publish}\n", `p.yaml:3:5: the fault does not say what it does`},
		{"fault that is a word", "name: x\nfaults: [crash]\n", `p.yaml:2:10: faults\[0\] is not a mapping; give keys such as on, after, at`},
		{"fault's job", "name: x\nfaults:\n  - {on: {job: 11, phase: publish}, do: hang}\n", `p.yaml:3:16: there is no job 11; the workload has jobs 1 to 10`},
		{"rate of zero", "name: x\nfaults:\n  - {on: {phase: publish}, do: hang, rate: 0}\n", `p.yaml:3:44: faults\[0\].rate is 0, out of range; give 0.000001 to 1`},
		{"rate above one", "name: x\nfaults:\n  - {on: {phase: publish}, do: hang, rate: 1.5}\n", `p.yaml:3:44: faults\[0\].rate is 1.5, out of range`},
		{"worker that is not there", "name: x\nfaults:\n  - {at: 5s, do: crash, node: worker-4}\n", `p.yaml:3:31: unknown node "worker-4"; the nodes are scheduler-1, .* \(did you mean "worker-1"\?\)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Parse("p.yaml", []byte(c.text))
			require.Error(t, err)
			assert.Nil(t, p)
			var pe *strictyaml.Error
			require.True(t, errors.As(err, &pe))
			assert.NotContains(t, err.Error(), "\n")
			if strings.ContainsAny(c.want, `\*`) {
				assert.Regexp(t, "^"+c.want, err.Error())
			} else {
				assert.True(t, strings.HasPrefix(err.Error(), c.want), "%s", err.Error())
			}
			if pe.Line == 0 {
				assert.Empty(t, pe.Excerpt())
			}
		})
	}
}

// Of two faults that strike one operation only one would take effect.
func TestParseRefusesToStrikeTwice(t *testing.T) {
	for _, c := range []struct {
		first, second string
		twice         bool
	}{
		{"on: {job: 3, phase: publish}, do: hang", "on: {job: 3, phase: publish}, do: hang", true},
		{"on: {job: 3, phase: publish}, do: hang", "on: {job: 3, phase: publish, occurrence: 1}, do: fail-before", true},
		{"on: {job: 3, phase: publish}, do: hang, times: 3", "on: {job: 3, phase: publish, occurrence: 3}, do: hang", true},
		{"on: {job: 3, phase: publish, occurrence: 3}, do: hang", "on: {job: 3, phase: publish}, do: hang, times: 3", true},
		{"after: {phase: publish}, do: crash, node: actor", "after: {phase: publish}, do: crash, node: worker-1", true},
		{"on: {job: 3, phase: publish}, do: hang, times: 3", "on: {job: 3, phase: publish, occurrence: 4}, do: hang", false},
		{"on: {job: 3, phase: publish}, do: hang", "on: {job: 4, phase: publish}, do: hang", false},
		{"on: {job: 3, phase: publish}, do: hang", "on: {job: 3, phase: state_read}, do: hang", false},
		{"on: {phase: publish, node: scheduler-1}, do: hang", "on: {phase: publish, node: scheduler-2}, do: hang", false},
		{"on: {job: 3, phase: publish}, do: hang", "on: {job: 3, phase: publish}, do: hang, rate: 0.5", false},
		{"on: {job: 3, phase: publish}, do: hang", "after: {job: 3, phase: publish}, do: crash, node: actor", false},
		{"after: {phase: publish}, do: crash, node: actor", "after: {phase: publish, occurrence: 2}, do: crash, node: actor", false},
		{"at: 5s, do: crash, node: worker-1", "at: 5s, do: crash, node: worker-2", false},
	} {
		p, err := Parse("p.yaml", []byte("name: x\nfaults:\n  - {"+c.first+"}\n  - {"+c.second+"}\n"))
		if !c.twice {
			require.NoError(t, err, c.second)
			continue
		}
		require.Error(t, err, c.second)
		assert.Nil(t, p)
		assert.Regexp(t, `^p.yaml:4:\d+: faults\[1\] strikes the same operation as faults\[0\]; give another occurrence$`, err.Error())
	}
}

// As part of a plan it is read in the same words.
func TestATriagePolicyOfAPlan(t *testing.T) {
	for text, want := range map[string]string{
		"triage: {}":                       "p.yaml:2:9: triage.version is missing; add version: v1",
		"triage: {version: v1, rules: []}": `p.yaml:2:23: unknown key "rules" in triage; known are version, dlq_rules`,
		"triage: {version: v1, dlq_rules: [{match: {reason_code: timeout}}]}": "p.yaml:2:35: triage.dlq_rules[0].action is missing; add it: one of auto_replay, quarantine, require_approval, manual_review",
	} {
		_, err := Parse("p.yaml", []byte("name: x\n"+text+"\n"))
		assert.EqualError(t, err, want)
	}
}

func TestLoad(t *testing.T) {
	p, err := Load("publish-failure")
	require.NoError(t, err)
	assert.Equal(t, "publish-failure", p.Name)

	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: mine\n"), 0o600))
	p, err = Load(file)
	require.NoError(t, err)
	assert.Equal(t, "mine", p.Name)

	t.Chdir(dir)
	for _, c := range []struct{ arg, want string }{
		{"publish-failur", "unknown scenario \"publish-failur\"; `wavetank list scenarios` names them, and a plan of your own is given by its file's path (did you mean \"publish-failure\"?)"},
		{"publish-failure.yaml", `publish-failure.yaml: there is no such file; give a plan's file, or a scenario that ` + "`wavetank list scenarios`" + ` names (did you mean "publish-failure"?)`},
		{filepath.Join(dir, "other.yaml"), filepath.Join(dir, "other.yaml") + ": there is no such file"},
		{dir, dir + ": this is a directory"},
		{"", `unknown scenario ""`},
	} {
		_, err := Load(c.arg)
		require.Error(t, err)
		assert.True(t, strings.HasPrefix(err.Error(), c.want), "%s", err.Error())
	}
}

func TestNamedPlans(t *testing.T) {
	assert.Subset(t, Names(), []string{"publish-failure", "rollback-failure", "redis-read-error", "state-write-failure", "stale-worker"})
	assert.True(t, slices.IsSorted(Names()))
	for _, name := range Names() {
		p, err := Load(name)
		require.NoError(t, err)
		assert.Equal(t, name, p.Name)
		assert.NotEmpty(t, p.Story)
		assert.Equal(t, PresetDocumented, p.Preset, "the specification's numbers are the documented design's")
		assert.True(t, len(p.About) > 0 || p.Workload.Runs > 0, "%s is about no job and no run", name)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		text, _ := Source(name)
		f.Add([]byte(text))
	}
	f.Add([]byte("name: x\nworkload: {slow: {3: 15m}}\nfaults: [{at: 5s, do: crash, node: worker-1}]\n"))
	f.Add([]byte("name: x\nworkload: {fail: {}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("p.yaml", data)
		if err != nil {
			var pe *strictyaml.Error
			require.True(t, errors.As(err, &pe), "%v", err)
			pe.Excerpt()
			return
		}
		text, err := Marshal(p)
		require.NoError(t, err)
		again, err := Parse("p.yaml", text)
		require.NoError(t, err, "%s", text)
		require.Equal(t, p, again)
	})
}

// Whoever writes a plan mends it once.
func TestAllErrorsOfAPlanAreToldAtOnce(t *testing.T) {
	tell := func(text string) (told []string) {
		_, err := Parse("p.yaml", []byte(text))
		var e *strictyaml.Error
		require.ErrorAs(t, err, &e)
		for _, one := range append([]*strictyaml.Error{e}, e.Also...) {
			place, _, _ := strings.Cut(one.Error(), ";")
			told = append(told, place)
			assert.NotEmpty(t, one.Source)
		}
		return told
	}
	assert.Equal(t, []string{
		`p.yaml:1:7: the name "Many Things" is not in kebab-case`,
		`p.yaml:4:25: unknown phase "publisj"`,
		`p.yaml:7:9: unknown fault "fail-befor"`,
		`p.yaml:10:12: faults[2].times is "no", not an integer`,
		`p.yaml:11:1: unknown key "bogus" in a plan`,
		`p.yaml:13:14: unknown invariant "no-such-invariant"`,
	}, tell(`name: Many Things
preset: documented
faults:
  - on: {job: 3, phase: publisj}
    do: fail-before
  - on: {job: 4, phase: publish}
    do: fail-befor
  - on: {job: 99, phase: publish}
    do: fail-before
    times: no
bogus: 1
expect:
  violates: [no-such-invariant]
`))
	assert.Equal(t, []string{
		`p.yaml:2:24: topology.schedulers is "x", not an integer`,
		`p.yaml:3:18: workload.jobs is -1, out of range`,
		`p.yaml:4:9: preset is "hard"`,
	}, tell("name: x\ntopology: {schedulers: x}\nworkload: {jobs: -1}\npreset: hard\nfaults:\n  - on: {job: 99, phase: publish}\n    do: crash\n    node: worker-9\n"),
		"what hangs on the preset waits")
	assert.Equal(t, []string{
		`p.yaml:2:24: topology.schedulers is 300, out of range`,
		`p.yaml:5:9: unknown fault "crush"`,
		`p.yaml:9:21: unknown invariant "none-such"`,
	}, tell("name: x\ntopology: {schedulers: 300}\nfaults:\n  - at: 1s\n    do: crush\n    node: worker-9\n  - on: {job: 99, phase: publish}\n    do: fail-before\nexpect: {violates: [none-such]}\n"),
		"what may hang on the size of the world waits")
}

// A story is of one preset. A run of the plan under another says so, and so does one of the plan that its folder keeps.
func TestAStoryIsOfOnePreset(t *testing.T) {
	p, err := Load("redis-power-loss")
	require.NoError(t, err)
	story := p.Story
	assert.Equal(t, story, p.Lead())
	for range 2 {
		require.NoError(t, p.Set("preset="+PresetHardened))
		assert.Equal(t, "Under the preset documented, the plan shows: "+story, p.Lead())
		text, err := Marshal(p)
		require.NoError(t, err)
		kept, err := Parse("kept", text)
		require.NoError(t, err)
		assert.Equal(t, p.Lead(), kept.Lead())
		require.NoError(t, p.Set("preset="+PresetDocumented))
		assert.Equal(t, story, p.Lead())
	}
	p.Expect.Changed = []string{"engine.fence=true"}
	assert.Equal(t, "Unmodified, the plan shows: "+story, p.Lead())
}
