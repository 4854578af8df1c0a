package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// story builds the events of a small run, and the servers' contents that go with them. Its verbs
// append one event each, a millisecond after the last; fails, lost and crashed change the last one.
type story struct {
	events  []sim.Event
	redis   map[string]map[string]string
	streams []sim.Change
	seqs    map[string]uint64
	metrics map[string]float64
	at      time.Duration
	tokens  int
	inc     map[string]int
}

func newStory() *story {
	return &story{redis: map[string]map[string]string{}, seqs: map[string]uint64{}, inc: map[string]int{}}
}

func (s *story) add(node string, kind sim.Kind, name, target, job, phase string, changes ...sim.Change) *story {
	s.at += time.Millisecond
	inc := 0
	if node != "" {
		inc = max(1, s.inc[node])
	}
	s.events = append(s.events, sim.Event{
		Step: len(s.events) + 1, At: s.at, Node: node, Incarnation: inc, Kind: kind, Name: name, Target: target,
		Job: job, Phase: phase, Outcome: sim.OutcomeOK, Changes: changes,
	})
	return s
}

func (s *story) last() *sim.Event { return &s.events[len(s.events)-1] }

// fails makes the last step's caller see an error, whether or not it was applied.
func (s *story) fails() *story { s.last().Outcome = "connection reset"; return s }

// injected makes every error of the story so far one that a fault has brought about.
func (s *story) injected() *story {
	for i := range s.events {
		e := &s.events[i]
		switch {
		case e.Fault != "" || !history.AnswerOf(e).Failed():
		case len(e.Changes) > 0:
			e.Fault = "fail-after"
		default:
			e.Fault = "fail-before"
		}
	}
	return s
}

// stalls is a pause of a scheduler that begins and ends where the story stands.
func (s *story) stalls(node string) *story { return s.control("pause", node).control("resume", node) }

// outcome is what the last step's caller was told.
func (s *story) outcome(said string) *story { s.last().Outcome = said; return s }

func (s *story) lost() *story { s.last().Fault = "lose"; return s }

// at1 makes the last step about the first message of its stream.
func (s *story) at1() *story { s.last().Seq = 1; return s }

// unseen is how a step looks whose process crashed before it learnt of its effect.
func (s *story) unseen() *story { s.last().Outcome = sim.OutcomePending; return s }

func (s *story) wait(d time.Duration) *story { s.at += d; return s }

// set changes Redis and returns the change; an empty value with gone removes.
func (s *story) set(key, field, value string) sim.Change {
	if s.redis[key] == nil {
		s.redis[key] = map[string]string{}
	}
	s.redis[key][field] = value
	return sim.Change{Key: key, Field: field, Value: value}
}

func (s *story) store(stream, subject, job string) sim.Change {
	s.seqs[stream]++
	c := sim.Change{Stream: stream, Seq: s.seqs[stream], Subject: subject, Header: map[string]string{history.HeaderJob: job}}
	if subject == history.SubjectSubmit {
		c.Value = fmt.Sprintf(`{"job_id":%q}`, job)
	}
	s.streams = append(s.streams, c)
	return c
}

// write moves the record to a state, and its index entry along.
func (s *story) write(node, job, phase, to string, fields ...string) *story {
	key := history.RecordPrefix + job
	now := strconv.FormatInt((s.at + time.Millisecond).Milliseconds(), 10)
	delete(s.redis[history.IndexPrefix+s.redis[key]["state"]], job)
	if s.redis[key]["state"] == "" {
		fields = append(fields, "created_at", now)
	}
	changes := []sim.Change{s.set(key, "state", to), s.set(key, "updated_at", now), s.set(history.IndexPrefix+to, job, now)}
	for i := 0; i < len(fields); i += 2 {
		changes = append(changes, s.set(key, fields[i], fields[i+1]))
	}
	return s.add(node, sim.KindRedis, "multi", key, job, phase, changes...)
}

func (s *story) attempts(job string) int {
	n, _ := strconv.Atoi(s.redis[history.RecordPrefix+job]["attempts"])
	return n
}

func (s *story) submit(job string) *story {
	s.write("submitter", job, "submit_write", "PENDING", "attempts", "0")
	return s.add("submitter", sim.KindPublish, "", history.SubjectSubmit, job, "submit_publish", s.store(history.StreamSys, history.SubjectSubmit, job))
}

// message is a delivery of the job's last message to the consumer that the phase names, or the answer to one: to the first of
// that number that the node has not answered yet, or to its last.
func (s *story) message(node, job, phase string, kind sim.Kind, delivered uint64) *story {
	s.add(node, kind, "", history.SubjectSubmit, job, phase)
	s.last().Delivered = delivered
	what, _, _ := strings.Cut(phase, "_")
	for _, c := range s.streams {
		if c.Header[history.HeaderJob] == job && history.ConsumerOf(c.Subject) == history.StreamSys+"/scheduler-"+what {
			s.last().Seq = c.Seq
		}
	}
	if kind != sim.KindDeliver {
		s.last().Answers = s.delivery(*s.last())
	}
	if kind == sim.KindNak {
		s.last().Delay = time.Second
	}
	return s
}

// awayFor makes the last step send its message back for so long.
func (s *story) awayFor(d time.Duration) *story { s.last().Delay = d; return s }

// delivery is the step of the one that the event answers; 0 if there was none.
func (s *story) delivery(of sim.Event) (step int) {
	answered := map[int]bool{}
	for _, e := range s.events {
		answered[e.Answers] = true
	}
	for _, e := range s.events {
		if e.Kind == sim.KindDeliver && e.Node == of.Node && e.Incarnation == of.Incarnation && e.Seq == of.Seq && e.Delivered == of.Delivered {
			if step = e.Step; !answered[step] {
				return step
			}
		}
	}
	return step
}

// pull is a pull for requests that sets out.
func (s *story) pull(node string) *story {
	return s.add(node, sim.KindFetch, "", history.ConsumerSubmit, "", "")
}

// pullEnds is the end of one that nothing came to.
func (s *story) pullEnds(node string) *story {
	return s.add(node, sim.KindFetchEnd, "", history.ConsumerSubmit, "", "")
}

// ack answers what the node was delivered last.
func (s *story) ack(node, job, phase string) *story {
	delivered := uint64(1)
	for i := range s.events {
		e := &s.events[i]
		if e.Kind == sim.KindDeliver && e.Node == node && e.Job == job && e.Phase == strings.TrimSuffix(phase, "ack")+"deliver" {
			delivered = e.Delivered
		}
	}
	return s.message(node, job, phase, sim.KindAck, delivered)
}

func (s *story) lock(node, job string) *story {
	s.tokens++
	c := s.set(history.LockPrefix+job, "", fmt.Sprintf("token-%d", s.tokens))
	c.Expires = s.at + time.Millisecond + time.Minute
	return s.add(node, sim.KindRedis, "set", c.Key, job, "lock_acquire", c)
}

func (s *story) busy(node, job string) *story {
	return s.add(node, sim.KindRedis, "set", history.LockPrefix+job, job, "lock_acquire")
}

func (s *story) renew(node, job string, ttl time.Duration) *story {
	c := s.set(history.LockPrefix+job, "", s.redis[history.LockPrefix+job][""])
	c.Expires = s.at + time.Millisecond + ttl
	return s.add(node, sim.KindRedis, "evalsha", c.Key, job, "lock_renew", c)
}

func (s *story) deleteLock(node, job string) *story {
	delete(s.redis, history.LockPrefix+job)
	return s.add(node, sim.KindRedis, "multi", history.LockPrefix+job, job, "lock_release", sim.Change{Key: history.LockPrefix + job, Gone: true})
}

// releases begins to give the lock back.
func (s *story) releases(node, job string) *story {
	return s.add(node, sim.KindRedis, "watch", history.LockPrefix+job, job, "lock_release")
}

func (s *story) unlock(node, job string) *story {
	s.releases(node, job)
	s.add(node, sim.KindRedis, "get", history.LockPrefix+job, job, "lock_release")
	return s.deleteLock(node, job)
}

func (s *story) op(node, job, phase string) *story {
	return s.add(node, sim.KindRedis, "", history.RecordPrefix+job, job, phase)
}

func (s *story) read(node, job string) *story { return s.op(node, job, "state_read") }

func (s *story) scheduled(node, job, phase string) *story {
	fields := []string{"attempts", strconv.Itoa(s.attempts(job) + 1)}
	if phase == "rollback_write" {
		fields = append(fields, "worker", "")
	}
	return s.write(node, job, phase, "SCHEDULED", fields...)
}

func (s *story) intended(node, job, worker string) *story {
	return s.write(node, job, "dispatched_write", "DISPATCHED", "worker", worker)
}

func (s *story) publish(node, job, worker string) *story {
	subject := "worker." + worker + ".jobs"
	return s.add(node, sim.KindPublish, "", subject, job, "publish", s.ordered(s.store(history.StreamJobs, subject, job), job, worker))
}

// ordered makes a message a dispatch to a worker, of the request that the job's record keeps, or of the last that was stored.
func (s *story) ordered(c sim.Change, job, worker string) sim.Change {
	packet := s.redis[history.RecordPrefix+job]["request"]
	for i := len(s.streams) - 1; i >= 0 && packet == ""; i-- {
		if m := &s.streams[i]; m.Subject == history.SubjectSubmit && m.Header[history.HeaderJob] == job {
			packet = m.Value
		}
	}
	order := map[string]any{}
	_ = json.Unmarshal([]byte(packet), &order) // a story need not have any request
	order["job_id"], order["worker_id"], order["attempt"] = job, worker, max(1, s.attempts(job))
	body, err := json.Marshal(order)
	if err != nil {
		panic(err)
	}
	c.Value = string(body)
	s.streams[len(s.streams)-1] = c
	return c
}

// publishFails is a publish of which nothing was stored.
func (s *story) publishFails(node, job, worker string) *story {
	return s.add(node, sim.KindPublish, "", "worker."+worker+".jobs", job, "publish").fails()
}

// publishDropped is a publish that the stream takes for one that it remembers.
func (s *story) publishDropped(node, job, worker string) *story {
	return s.add(node, sim.KindPublish, "", "worker."+worker+".jobs", job, "publish")
}

// begins is a handling up to its SCHEDULED write.
func (s *story) begins(node, job string) *story {
	return s.lock(node, job).read(node, job).scheduled(node, job, "scheduled_write")
}

// dispatched is a whole handling of a request in which nothing goes wrong.
func (s *story) dispatched(node, job, worker string) *story {
	return s.begins(node, job).intended(node, job, worker).publish(node, job, worker).
		write(node, job, "running_write", "RUNNING").unlock(node, job).ack(node, job, "submit_ack")
}

func (s *story) effect(worker, job, name string) *story {
	return s.add(worker, history.KindEffect, name, job+":key", job, "effect")
}

func (s *story) result(worker, job string) *story {
	return s.replies(worker, job, `{"status":"SUCCEEDED"}`)
}

// replies is a worker's result.
func (s *story) replies(worker, job, packet string) *story {
	return s.add(worker, sim.KindPublish, "", history.SubjectResult, job, "result_publish", s.answer(job, packet))
}

// answer is a result that a stream stores.
func (s *story) answer(job, packet string) sim.Change {
	c := s.store(history.StreamSys, history.SubjectResult, job)
	c.Value = packet
	s.streams[len(s.streams)-1] = c
	return c
}

// executed is a worker's part.
func (s *story) executed(worker, job string) *story {
	return s.effect(worker, job, "begin").effect(worker, job, "finish").result(worker, job)
}

// completed is a whole handling of a result.
func (s *story) completed(node, job, state string) *story {
	return s.message(node, job, "result_deliver", sim.KindDeliver, 1).lock(node, job).read(node, job).
		write(node, job, "result_write", state).unlock(node, job).ack(node, job, "result_ack")
}

// dlq writes an entry and its index.
func (s *story) dlq(node, job, reason string, attempts int) *story {
	data, err := json.Marshal(map[string]any{"job_id": job, "reason_code": reason, "attempts": attempts, "status": s.redis[history.RecordPrefix+job]["state"], "created_at": s.at.Milliseconds()})
	if err != nil {
		panic(err)
	}
	c := s.set(history.DlqPrefix+job, "", string(data))
	c.Expires = s.at + 30*24*time.Hour
	return s.add(node, sim.KindRedis, "multi", c.Key, job, "dlq_write", c, s.set(history.DlqIndex, job, "1"))
}

// givenUp writes FAILED for want of attempts, and then the entry with that cause.
func (s *story) givenUp(node, job, cause string) *story {
	return s.write(node, job, "failed_write", "FAILED", "reason_code", "max_scheduling_retries").buried(node, job, cause)
}

// buried writes the entry of one that is given up.
func (s *story) buried(node, job, cause string) *story {
	s.dlq(node, job, "max_scheduling_retries", s.attempts(job))
	c := &s.last().Changes[0]
	c.Value = strings.Replace(c.Value, "{", `{"last_cause":"`+cause+`",`, 1)
	s.redis[c.Key][""] = c.Value
	return s
}

// rejected is a handling that ends at FAILED with its entry.
func (s *story) rejected(node, job string) *story {
	return s.begins(node, job).write(node, job, "failed_write", "FAILED", "reason_code", "no_pool_mapping").
		dlq(node, job, "no_pool_mapping", s.attempts(job)).unlock(node, job).ack(node, job, "submit_ack")
}

func (s *story) control(verb, node string) *story {
	s.add("", sim.KindControl, verb, node, "", "")
	if verb == "restart" {
		s.inc[node] = max(1, s.inc[node]) + 1
		s.add(node, sim.KindStart, "", "", "", "")
	}
	return s
}

func (s *story) beat(worker string, schedulers ...string) *story {
	s.add(worker, sim.KindSend, "", history.SubjectBeat, worker, "heartbeat")
	for _, scheduler := range schedulers {
		s.add(scheduler, sim.KindReceive, "", history.SubjectBeat, worker, "heartbeat")
	}
	return s
}

// counted makes the schedulers' counters what they should be after the story.
func (s *story) counted(metrics map[string]float64) *story { s.metrics = metrics; return s }

func (s *story) end() invariants.End {
	return invariants.End{At: s.at, InTime: true, Redis: s.redis, Streams: s.streams, Metrics: s.metrics}
}

func (s *story) judge(cfg config.Config) invariants.Report {
	j := NewJudge(cfg)
	for i := range s.events {
		j.Observe(&s.events[i])
	}
	return j.Finish(s.end())
}

// outcome finds one invariant's row.
func outcomeOf(r invariants.Report, name string) invariants.Outcome {
	for _, o := range r.Invariants {
		if o.Name == name {
			return o
		}
	}
	panic("no invariant " + name)
}

// assertSays asserts that one violation was found, which says so, or none if says is empty. It returns whether there is one to look at.
func assertSays(t *testing.T, found []invariants.Violation, says string, about ...any) bool {
	t.Helper()
	if says == "" {
		assert.Empty(t, found, about...)
		return false
	}
	return assert.Len(t, found, 1, about...) && assert.Contains(t, found[0].Message, says, about...)
}

// struckBy says whether a strike of that kind came.
func (s *story) struckBy(k invariants.StrikeKind) bool {
	return slices.ContainsFunc(s.events, func(e sim.Event) bool { strike, ok := history.StrikeOf(&e); return ok && strike.Kind == k })
}
