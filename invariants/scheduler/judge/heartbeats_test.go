package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// beating has one worker, which says every ten seconds that it lives.
var beating = config.Config{Workers: map[string]config.WorkerConfig{w1: {Node: w1, Pool: "default", MaxParallel: 10}}, HeartbeatEvery: 10 * time.Second}

// begun is an execution under way, in a worker's process that begins before it.
func (s *story) begun(worker, job string) *story {
	if s.inc[worker] == 0 {
		s.inc[worker] = 1
		s.add(worker, sim.KindStart, "", "", "", "")
	}
	return s.message(worker, job, "job_deliver", sim.KindDeliver, 1).of(numbered(job)).effect(worker, job, "begin")
}

// over is the end of one.
func (s *story) over(worker, job string) *story {
	return s.effect(worker, job, "finish").message(worker, job, "job_ack", sim.KindAck, 1).of(numbered(job))
}

// numbered is the sequence of a job's only dispatch.
func numbered(job string) uint64 { return uint64(job[len(job)-1] - '0') }

// isHeard is a heartbeat that a scheduler hears, of a worker as the test has it, with so many jobs.
func (s *story) isHeard(worker, scheduler string, active int) *story {
	return s.add(worker, sim.KindSend, "", history.SubjectBeat, worker, "heartbeat").beats(worker, active, scheduler)
}

// A worker says how many jobs it executes, give or take those that begin or end just then.
func TestActiveJobsAreExecutions(t *testing.T) {
	cfg := beating
	const job2 = "job-2"
	broken := func(s *story) int {
		return len(outcomeOf(s.judge(cfg), "heartbeat-tells-the-truth").Violations)
	}
	two := func() *story { return newStory().begun(w1, job1).begun(w1, job2).wait(2 * time.Second) }
	assert.Zero(t, broken(two().isHeard(w1, s1, 2)))
	assert.Equal(t, 1, broken(two().isHeard(w1, s1, 1)))
	assert.Equal(t, 1, broken(two().isHeard(w1, s1, 3)))
	assert.Zero(t, broken(two().over(w1, job1).isHeard(w1, s1, 2)), "it ended just then")
	assert.Zero(t, broken(two().over(w1, job1).isHeard(w1, s1, 1)))
	assert.Equal(t, 1, broken(two().over(w1, job1).wait(2*time.Second).isHeard(w1, s1, 2)))
	assert.Zero(t, broken(two().effect(w1, job1, "finish").wait(2*time.Second).isHeard(w1, s1, 2)), "its result is not reported yet")
	assert.Equal(t, 1, broken(two().control("crash", w1).control("restart", w1).isHeard(w1, s1, 2)), "its process knows of none")
	assert.Zero(t, broken(two().control("crash", w1).control("restart", w1).isHeard(w1, s1, 0)))
	assert.Zero(t, broken(two().control("pause", w1).wait(9*time.Second).control("resume", w1).isHeard(w1, s1, 1)), "it is as old as the pause")
	assert.Zero(t, broken(two().control("pause", s1).wait(8*time.Second).control("resume", s1).isHeard(w1, s1, 1)), "it may have waited for the scheduler")

	cfg.HeartbeatLag = time.Minute
	late := two().isHeard(w1, s2, 2).over(w1, job1).over(w1, job2).wait(9 * time.Second)
	assert.Zero(t, broken(late.isHeard(w1, s1, 2)), "it was overtaken")
}

// What does not change while a worker is up is what the plan says of it.
func TestAHeartbeatSaysWhatItsWorkerIs(t *testing.T) {
	is := config.WorkerConfig{Node: w1, Pool: "gpu", Topics: []string{"job.gpu"}, Labels: map[string]string{"zone": "zone-1"}, Capabilities: []string{"gpu"}, MaxParallel: 4, CPU: 20, GPU: 60}
	said := func(data string) string {
		s := newStory().begun(w1, job1).begun(w1, "job-2").wait(2*time.Second).isHeard(w1, s1, 0)
		s.last().Data = data
		r := s.judge(config.Config{Workers: map[string]config.WorkerConfig{w1: is}, HeartbeatEvery: time.Minute})
		if list := outcomeOf(r, "heartbeat-tells-the-truth").Violations; len(list) > 0 {
			return list[0].Message
		}
		return ""
	}
	const whole = `{"worker_id":"worker-1","pool":"gpu","topics":["job.gpu"],"active_jobs":2,"max_parallel_jobs":4,"cpu_load":40,"gpu_utilization":100,"labels":{"zone":"zone-1"},"capabilities":["gpu"]}`
	assert.Empty(t, said(whole))
	for data, amiss := range map[string]string{
		`{"worker_id":"worker-9"}`:              "there is no such worker",
		`{"worker_id":"worker-1"}`:              "pool is , and should be gpu",
		`{"worker_id":"worker-1","pool":"gpu"}`: "topics is [], and should be [job.gpu]",
		`{"worker_id":"worker-1","pool":"gpu","topics":["job.gpu"],"max_parallel_jobs":8}`:                                                                                                      "max_parallel_jobs is 8, and should be 4",
		`{"worker_id":"worker-1","pool":"gpu","topics":["job.gpu"],"max_parallel_jobs":4}`:                                                                                                      "labels is map[], and should be map[zone:zone-1]",
		whole[:len(whole)-len(`,"capabilities":["gpu"]}`)] + `}`:                                                                                                                                "capabilities is [], and should be [gpu]",
		`{"worker_id":"worker-1","pool":"gpu","topics":["job.gpu"],"active_jobs":2,"max_parallel_jobs":4,"labels":{"zone":"zone-1"},"capabilities":["gpu"]}`:                                    "cpu_load is 0, and should be 40",
		`{"worker_id":"worker-1","pool":"gpu","topics":["job.gpu"],"active_jobs":2,"max_parallel_jobs":4,"cpu_load":40,"gpu_utilization":40,"labels":{"zone":"zone-1"},"capabilities":["gpu"]}`: "gpu_utilization is 40, and should be 100",
	} {
		assert.Contains(t, said(data), amiss)
	}
}

// A worker that is up sends one heartbeat after the other, to the end.
func TestHeartbeatsComeInTime(t *testing.T) {
	cfg := beating
	says := func(s *story) int {
		return len(outcomeOf(s.judge(cfg), "heartbeat-tells-the-truth").Violations)
	}
	up := func() *story { return newStory().begun(w1, job1).over(w1, job1).isHeard(w1, s1, 0) }
	assert.Zero(t, says(up().wait(10*time.Second).isHeard(w1, s1, 0)))
	assert.Equal(t, 1, says(up().wait(20*time.Second).isHeard(w1, s1, 0)))
	assert.Equal(t, 1, says(up().wait(20*time.Second)), "no more come")
	assert.Zero(t, says(up().control("crash", w1).wait(20*time.Second)))
	assert.Zero(t, says(up().control("pause", w1).wait(20*time.Second).control("resume", w1).isHeard(w1, s1, 0)))
	assert.Zero(t, says(up().control("partition nats", w1).wait(20*time.Second).control("heal nats", w1)))
}

// A worker executes no more at once than it may.
func TestAWorkerHasSoManySlots(t *testing.T) {
	cfg := config.Config{Workers: map[string]config.WorkerConfig{w1: {Node: w1, Pool: "default", MaxParallel: 1}}, HeartbeatEvery: time.Minute}
	broken := func(s *story) int {
		return len(outcomeOf(s.begun(w1, "job-2").judge(cfg), "heartbeat-tells-the-truth").Violations)
	}
	assert.Equal(t, 1, broken(newStory().begun(w1, job1)))
	assert.Zero(t, broken(newStory().begun(w1, job1).over(w1, job1)))
	assert.Zero(t, broken(newStory().begun(w2, job1)))
	assert.Zero(t, broken(newStory().begun(w1, job1).message(w1, job1, "job_ack", sim.KindAck, 1).of(1)), "it was cancelled")
}
