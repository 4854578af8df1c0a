package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// minted is the DISPATCHED write that mints an epoch.
func (s *story) minted(node, job, worker string, epoch int) *story {
	return s.write(node, job, "dispatched_write", "DISPATCHED", "worker", worker, "epoch", strconv.Itoa(epoch))
}

func epochSubject(worker, job string, epoch int) string {
	return fmt.Sprintf("worker.%s.jobs.%s.%d", worker, job, epoch)
}

// publishes is the publish of an epoch's dispatch.
func (s *story) publishes(node, job, worker string, epoch int) *story {
	subject := epochSubject(worker, job, epoch)
	return s.add(node, sim.KindPublish, "", subject, job, "publish", s.ordered(s.epoch(s.store(history.StreamJobs, subject, job), epoch), job, worker))
}

// epoch adds an epoch to a message that was just stored.
func (s *story) epoch(c sim.Change, epoch int) sim.Change {
	c.Header[history.HeaderEpoch] = strconv.Itoa(epoch)
	return c
}

// refused is a publish in whose place the stream holds a message already.
func (s *story) refused(node, job, worker string, epoch int) *story {
	s.add(node, sim.KindPublish, "", epochSubject(worker, job, epoch), job, "publish")
	s.last().Outcome = "nats: API error: code=400 err_code=10071 description=wrong last sequence: 1"
	return s.add(node, sim.KindAPI, "GetLastMsgForSubject", history.StreamJobs+"/"+epochSubject("*", job, epoch), job, "publish_read")
}

func (s *story) voids(node, job, worker string, epoch int) *story {
	c := s.epoch(s.store(history.StreamJobs, epochSubject(worker, job, epoch), job), epoch)
	c.Header[history.HeaderVoid] = "1"
	return s.add(node, sim.KindPublish, "", c.Subject, job, "void_publish", c)
}

// dispatchedAt is a whole handling of a request, with an epoch.
func (s *story) dispatchedAt(node, job, worker string, epoch int) *story {
	return s.begins(node, job).minted(node, job, worker, epoch).publishes(node, job, worker, epoch).
		write(node, job, "running_write", "RUNNING").unlock(node, job).ack(node, job, "submit_ack")
}

// looks is the part of a fenced write that changes nothing.
func (s *story) looks(node, job, phase string) *story {
	s.add(node, sim.KindRedis, "watch", history.RecordPrefix+job, job, phase)
	return s.add(node, sim.KindRedis, "pipeline", history.RecordPrefix+job, job, phase)
}

// answers is a worker's result of an epoch; it is message seq of its stream.
func (s *story) answers(worker, job string, epoch int) *story {
	return s.add(worker, sim.KindPublish, "", history.SubjectResult, job, "result_publish", s.epoch(s.answer(job, `{"status":"SUCCEEDED"}`), epoch))
}

// of makes the last step be about that message of its stream.
func (s *story) of(seq uint64) *story { s.last().Seq = seq; return s }

// garbles publishes a request that nobody can read.
func (s *story) garbles(id string) *story {
	c := s.store(history.StreamSys, history.SubjectSubmit, id)
	c.Value = `{"job_id": 7,`
	return s.add("stranger", sim.KindPublish, "", history.SubjectSubmit, id, "poison_publish", c)
}

// allowed is a handling up to its SCHEDULED write, with what the safety kernel has allowed.
func (s *story) allowed(node, job, payload string) *story {
	return s.submit(job).lock(node, job).write(node, job, "scheduled_write", "SCHEDULED", "attempts", "1",
		"decision", "ALLOW", "request", fmt.Sprintf(`{"topic":"job.default","payload":%s}`, payload))
}

// dispatchesPayload is the dispatch of a job with a payload.
func (s *story) dispatchesPayload(node, job, worker, payload string) *story {
	s.intended(node, job, worker)
	subject := "worker." + worker + ".jobs"
	c := s.store(history.StreamJobs, subject, job)
	c.Value = fmt.Sprintf(`{"job_id":%q,"topic":"job.default","worker_id":%q,"attempt":%d,"payload":%s}`, job, worker, s.attempts(job), payload)
	s.streams[len(s.streams)-1] = c
	return s.add(node, sim.KindPublish, "", subject, job, "publish", c)
}

// answersNonsense is a result that nobody can take.
func (s *story) answersNonsense(worker, job string) *story {
	return s.replies(worker, job, `{"status":"NONSENSE"}`)
}

// cancels asks for a job to be cancelled.
func (s *story) cancels(job string) *story {
	return s.add("canceller", sim.KindPublish, "", history.SubjectCancel, job, "cancel_publish", s.store(history.StreamSys, history.SubjectCancel, job))
}

func (s *story) cancelled(node, job string) *story {
	return s.lock(node, job).read(node, job).write(node, job, "cancel_write", "CANCELLED")
}

// tells is the notice to a worker, of the record's epoch.
func (s *story) tells(node, job, worker string) *story {
	epoch, _ := strconv.Atoi(s.redis[history.RecordPrefix+job]["epoch"])
	return s.tellsOf(node, job, worker, epoch)
}

func (s *story) tellsOf(node, job, worker string, epoch int) *story {
	subject := "worker." + worker + ".cancel"
	c := s.epoch(s.store(history.StreamJobs, subject, job), epoch)
	c.Value = fmt.Sprintf(`{"job_id":%q,"epoch":%d}`, job, epoch)
	s.streams[len(s.streams)-1] = c
	return s.add(node, sim.KindPublish, "", subject, job, "cancel_notice", c)
}

// timesOut is a reconciler's handling of one job.
func (s *story) timesOut(node, job string) *story {
	return s.lock(node, job).op(node, job, "timeout_read").write(node, job, "timeout_write", "TIMEOUT", "reason_code", "timeout").unlock(node, job)
}

// ticks is the beginning of a tick, by its lock.
func (s *story) ticks(node, key, phase string, ttl time.Duration) *story {
	s.tokens++
	c := s.set(key, "", fmt.Sprintf("token-%d", s.tokens))
	c.Expires = s.at + time.Millisecond + ttl
	return s.add(node, sim.KindRedis, "set", key, "", phase, c)
}

func (s *story) reconciles(node string) *story {
	return s.ticks(node, history.ReconcilerKey, "reconcile_lock", time.Minute)
}

func (s *story) ticksNot(node, key, phase string) *story {
	return s.add(node, sim.KindRedis, "set", key, "", phase)
}

// beatsFor lets time pass in which replicas hear of a worker every ten seconds.
func (s *story) beatsFor(d time.Duration, worker string, nodes ...string) *story {
	for range d / (10 * time.Second) {
		s.wait(10*time.Second).beat(worker, nodes...)
	}
	return s
}

// heard is a worker as a snapshot of the story has it.
type heard struct {
	worker string
	ago    time.Duration
	active int
}

// snapshots writes the snapshot.
func (s *story) snapshots(node string, workers ...heard) *story {
	now := (s.at + time.Millisecond).Milliseconds()
	list := []map[string]any{}
	for _, w := range workers {
		list = append(list, map[string]any{
			"heartbeat": map[string]any{"worker_id": w.worker, "pool": "default", "active_jobs": w.active, "max_parallel_jobs": 10},
			"last_seen": now - w.ago.Milliseconds(),
		})
	}
	data, err := json.Marshal(map[string]any{"written_at": now, "workers": list})
	if err != nil {
		panic(err)
	}
	return s.add(node, sim.KindRedis, "set", history.SnapshotKey, "", "snapshot_write", s.set(history.SnapshotKey, "", string(data)))
}

// arrives makes the last step come so much later.
func (s *story) arrives(d time.Duration) *story {
	s.at += d
	s.last().At = s.at
	return s.late()
}

// writesSnapshot is a whole tick of the snapshot's writer.
func (s *story) writesSnapshot(node string, workers ...heard) *story {
	s.ticks(node, history.WriterKey, "snapshot_lock", 10*time.Second).snapshots(node, workers...)
	return s.add(node, sim.KindRedis, "multi", history.WriterKey, "", "snapshot_unlock", sim.Change{Key: history.WriterKey, Gone: true})
}

// starts is the start of a scheduler that reads the snapshot, and then the time.
func (s *story) starts(node string) *story {
	s.add(node, sim.KindStart, "", "", "", "")
	s.add(node, sim.KindRedis, "get", history.SnapshotKey, "", "snapshot_read")
	return s.add(node, sim.KindRedis, "time", "", "", "snapshot_read")
}

// beats is a heartbeat with a load, as schedulers receive it.
func (s *story) beats(worker string, active int, schedulers ...string) *story {
	for _, scheduler := range schedulers {
		s.add(scheduler, sim.KindReceive, "", history.SubjectBeat, worker, "heartbeat")
		s.last().Data = fmt.Sprintf(`{"worker_id":%q,"pool":"default","active_jobs":%d,"max_parallel_jobs":10}`, worker, active)
	}
	return s
}

// remembers tells Redis that a message was handled.
func (s *story) remembers(node, job string, seq int) *story {
	c := s.set(fmt.Sprintf("%s%s:%d", history.ProcessedPrefix, history.StreamSys, seq), "", "1")
	c.Expires = s.at + time.Millisecond + 10*time.Minute
	return s.add(node, sim.KindRedis, "multi", c.Key, job, "processed_write", c)
}

// asks is the question whether a message was handled.
func (s *story) asks(node, job string, seq int) *story {
	return s.add(node, sim.KindRedis, "exists", fmt.Sprintf("%s%s:%d", history.ProcessedPrefix, history.StreamSys, seq), job, "processed_read")
}

// inFlight notes that a message is being handled.
func (s *story) inFlight(node, job string, seq int) *story {
	c := s.set(fmt.Sprintf("%s%s:%d", history.InflightPrefix, history.StreamSys, seq), "", "1")
	c.Expires = s.at + time.Millisecond + 2*time.Minute
	return s.add(node, sim.KindRedis, "set", c.Key, job, "inflight_write", c)
}

// renewalFails is a renewal that came to nothing.
func (s *story) renewalFails(node, job string) *story {
	return s.add(node, sim.KindRedis, "evalsha", history.LockPrefix+job, job, "lock_renew").fails()
}

// late is an operation that has its effect after its caller gave it up.
func (s *story) late() *story {
	s.last().Kind, s.last().Fault = sim.KindLate, "late"
	return s
}

// sentBack is a delivery whose handling ends with a publish that fails.
func sentBack(s *story, delivery uint64) *story {
	return s.message(s1, job1, "submit_deliver", sim.KindDeliver, delivery).begins(s1, job1).intended(s1, job1, w1).publishFails(s1, job1, w1).
		scheduled(s1, job1, "rollback_write").unlock(s1, job1).message(s1, job1, "submit_nak", sim.KindNak, delivery)
}

// repickDropped is a job that goes to another worker, for whom the stream stores nothing: it remembers the
// dispatch to the first, whose ack was lost.
func repickDropped(s *story) *story {
	return s.submit(job1).begins(s1, job1).intended(s1, job1, w1).publish(s1, job1, w1).fails().
		scheduled(s1, job1, "rollback_write").unlock(s1, job1).
		begins(s1, job1).intended(s1, job1, w2).publishDropped(s1, job1, w2).write(s1, job1, "running_write", "RUNNING").unlock(s1, job1)
}
