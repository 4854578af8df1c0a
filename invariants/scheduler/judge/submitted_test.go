package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// garbled is a request that nobody can read, of a node.
func garbled(s *story, node string) {
	c := s.store(history.StreamSys, history.SubjectSubmit, job1)
	c.Value = ""
	s.streams[len(s.streams)-1] = c
	s.add(node, sim.KindPublish, "", history.SubjectSubmit, job1, "submit_publish", c)
}

// submits is the submission of job-1 with a request.
func (s *story) submits(request string) *story {
	s.write("submitter", job1, "submit_write", "PENDING", "attempts", "0", "request", request)
	c := s.store(history.StreamSys, history.SubjectSubmit, job1)
	c.Value = request
	s.streams[len(s.streams)-1] = c
	return s.add("submitter", sim.KindPublish, "", history.SubjectSubmit, job1, "submit_publish", c)
}

// cancelsFor is a cancellation of job-1, which a client keeps in the record.
func (s *story) cancelsFor(reason string) *story {
	key := history.RecordPrefix + job1
	return s.add("canceller", sim.KindRedis, "multi", key, job1, "cancel_keep", s.set(key, "cancel", reason))
}

// returns is the end of an operation of the submitter, which was under way.
func (s *story) returns(phase string) *story {
	return s.add("submitter", sim.KindReturn, "", "", job1, phase)
}

func TestWhatIsAskedIsStored(t *testing.T) {
	asked := twoSteps(1, pendingStep, pendingStep)
	cfg := config.Config{Asked: config.AskedConfig{
		Request: func(client, job string) *history.Request {
			if client != "submitter" {
				return nil
			}
			return &history.Request{JobID: job, Tenant: "tenant-1", Budget: []byte(`{"deadline_ms":1000}`)}
		},
		Run: func(id string, _ time.Time) *history.RunRecord {
			if id != asked.RunID {
				return nil
			}
			return &asked
		},
		Reason: func(job string) (string, bool) { return "wanted no more", job == job1 },
	}}
	const whole = `{"job_id":"job-1","tenant":"tenant-1","budget":{"deadline_ms":1000}}`
	atOnce := twoSteps(2, pendingStep, pendingStep)
	atOnce.Steps[1].DelaySec = 0
	runOf := func(change func(*history.RunRecord)) *story {
		r := twoSteps(1, pendingStep, pendingStep)
		change(&r)
		return newStory().run("starter", "run_create", r)
	}
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
		n    int
	}{
		"a request":                        {newStory().submits(whole), "", 0},
		"without its tenant":               {newStory().submits(`{"job_id":"job-1","budget":{"deadline_ms":1000}}`), "submitter stored at step 1 is not what was to be asked: its tenant is another", 2},
		"with more time":                   {newStory().submits(`{"job_id":"job-1","tenant":"tenant-1","budget":{"deadline_ms":10000}}`), "its budget is another", 2},
		"that nobody can read":             {newStory().submits(`{"job_id":`), "the record that submitter made at step 1 keeps no request", 1},
		"that its record has not":          {newStory().submit(job1), "the record that submitter made at step 1 keeps no request", 2},
		"a cancellation":                   {newStory().submits(whole).cancelsFor("wanted no more"), "", 0},
		"for no reason":                    {newStory().submits(whole).cancelsFor(""), `canceller cancelled it at step 3 for the reason "", which was to be "wanted no more"`, 1},
		"of another job":                   {newStory().cancels("job-2"), "canceller cancelled it at step 1, which was not to be", 1},
		"a run":                            {runOf(func(*history.RunRecord) {}), "", 0},
		"of nobody":                        {runOf(func(r *history.RunRecord) { r.Tenant = "nobody" }), "the run that starter stored at step 1 is not what was to be asked: its tenant is another", 1},
		"of another workflow":              {runOf(func(r *history.RunRecord) { r.WorkflowID = "another" }), "its workflow_id is another", 1},
		"of one step":                      {runOf(func(r *history.RunRecord) { r.Steps = r.Steps[:1] }), "its steps is another", 1},
		"with a step of another name":      {runOf(func(r *history.RunRecord) { r.Steps[1].ID = "c" }), "its steps is another", 1},
		"whose step waits for nothing":     {runOf(func(r *history.RunRecord) { r.Steps[1].DependsOn = nil }), "its b.depends_on is another", 1},
		"whose step is tried again":        {runOf(func(r *history.RunRecord) { r.Steps[0].Retry.Max = 7 }), "its a.retry is another", 1},
		"that was not to be":               {runOf(func(r *history.RunRecord) { r.RunID = "run-2" }), "its id is another", 1},
		"a run that is started once more":  {runOf(func(*history.RunRecord) {}).run("starter", "run_create", atOnce), "its b.delay_sec is another", 1},
		"what a scheduler makes of a run":  {runOf(func(*history.RunRecord) {}).run(s1, "run_write", atOnce), "", 0},
		"what a scheduler makes of a job":  {newStory().submits(whole).write(s1, job1, "scheduled_write", "SCHEDULED", "request", `{"job_id":"job-1"}`), "", 0},
		"a client whom nobody has to hear": {newStory().write("operator", job1, "submit_write", "PENDING", "request", `{"job_id":"job-1"}`), "", 0},
	} {
		o := outcomeOf(c.s.judge(cfg), "what-is-asked-is-stored")
		if assert.Len(t, o.Violations, c.n, name) && c.n > 0 {
			assert.Contains(t, o.Violations[0].Message, c.says, name)
		}
		unjudged := outcomeOf(c.s.judge(config.Config{}), "what-is-asked-is-stored")
		assert.Zero(t, unjudged.Exercised+len(unjudged.Violations), name)
	}
}

// What was confirmed is not published again, but by another process, or where the plan asks for it.
func TestWhatIsConfirmedIsNotPublishedAgain(t *testing.T) {
	given := func(s *story, n uint64) *story { return s.message(w1, job1, "job_deliver", sim.KindDeliver, n) }
	fails := config.Config{Executions: map[string]config.Execution{job1: {Succeeds: true}}}
	for name, c := range map[string]struct {
		cfg  config.Config
		s    *story
		says string // "" if it holds
	}{
		"a request":                       {config.Config{}, newStory().submit(job1), ""},
		"two":                             {config.Config{}, newStory().submit(job1).submit(job1), "submitter was told at step 4 for the second time that the stream has what it published (submit_publish), which it was to publish 1 time"},
		"as the plan asks":                {config.Config{Submissions: 2}, newStory().submit(job1).submit(job1), ""},
		"one that was not confirmed":      {config.Config{}, newStory().submit(job1).fails().submit(job1), ""},
		"one that hangs":                  {config.Config{}, newStory().submit(job1).unseen().submit(job1), ""},
		"by a client that began anew":     {config.Config{}, newStory().submit(job1).control("crash", "submitter").control("restart", "submitter").submit(job1), ""},
		"two cancellations":               {config.Config{Submissions: 2}, newStory().submit(job1).cancels(job1).cancels(job1), "(cancel_publish), which it was to publish 1 time"},
		"a result":                        {config.Config{}, given(newStory().submit(job1).dispatched(s1, job1, w1), 1).executed(w1, job1), ""},
		"two results":                     {config.Config{}, given(newStory().submit(job1).dispatched(s1, job1, w1), 1).executed(w1, job1).result(w1, job1), "(result_publish), which it was to publish 1 time"},
		"one that was not taken":          {config.Config{}, given(newStory().submit(job1).dispatched(s1, job1, w1), 1).executed(w1, job1).fails().result(w1, job1), ""},
		"one of each delivery":            {config.Config{}, given(given(newStory().submit(job1).dispatched(s1, job1, w1), 1).executed(w1, job1), 2).result(w1, job1), ""},
		"a success after a failure":       {fails, given(newStory().submit(job1).dispatched(s1, job1, w1), 1).executed(w1, job1).result(w1, job1), ""},
		"of a worker that nobody watched": {config.Config{}, newStory().submit(job1).dispatched(s1, job1, w1).executed(w1, job1).result(w1, job1), ""},
	} {
		o := outcomeOf(c.s.judge(c.cfg), "nothing-is-published-twice")
		if c.says == "" {
			assert.Empty(t, o.Violations, name)
		} else if assert.Len(t, o.Violations, 1, name) {
			assert.Contains(t, o.Violations[0].Message, c.says, name)
		}
	}
}

func TestWhatClientsAreToStore(t *testing.T) {
	const unjudged = "nothing"
	calm := func() *story { return newStory().submit(job1) }
	refused := func() *story {
		return newStory().write("submitter", job1, "submit_write", "PENDING", "attempts", "0").
			add("submitter", sim.KindPublish, "", history.SubjectSubmit, job1, "submit_publish").fails()
	}
	for name, c := range map[string]struct {
		s    *story
		cfg  config.Config
		says string // "" if it holds
	}{
		"a job":                       {calm(), config.Config{Jobs: 1}, ""},
		"a job too few":               {calm(), config.Config{Jobs: 2}, "clients could store 1 of 2 jobs"},
		"a cancellation":              {calm().cancels(job1), config.Config{Cancels: 1}, ""},
		"a job twice cancelled":       {calm().cancels(job1).cancels(job1), config.Config{Cancels: 2}, "clients could store 1 of 2 cancellations"},
		"a run":                       {newStory().run("starter", "run_create", twoSteps(1, pendingStep, pendingStep)), config.Config{Runs: 1}, ""},
		"a run that nobody may start": {calm(), config.Config{Runs: 1}, "clients could store 0 of 1 workflow runs"},

		"a publish that failed":                       {refused().wait(time.Minute), config.Config{Jobs: 1}, "job-1: the submit_publish of submitter at step 2 failed, nothing was stored, and submitter did not publish it again"},
		"a publish that failed of one who gives up":   {refused().wait(time.Minute), config.Config{Cancels: 1}, "clients could store 0 of 1 cancellations"},
		"a publish that failed just now":              {refused(), config.Config{Jobs: 1}, ""},
		"a publish whose client is at it":             {refused().wait(time.Minute).op("submitter", job1, "submit_write"), config.Config{Jobs: 1}, ""},
		"a publish whose client has only looked":      {refused().wait(time.Second).op("submitter", job1, "submit_write").wait(time.Minute), config.Config{Jobs: 1}, "job-1: the submit_publish of submitter at step 2 failed, nothing was stored, and submitter did not publish it again"},
		"a publish whose client meets another error":  {refused().op("submitter", job1, "submit_write").fails().wait(time.Minute), config.Config{Jobs: 1}, ""},
		"a publish that was repeated":                 {refused().submit(job1).wait(time.Minute), config.Config{Jobs: 1}, ""},
		"a publish that was stored":                   {calm().fails().wait(time.Minute), config.Config{Jobs: 1}, ""},
		"a publish that was never answered":           {refused().unseen().wait(time.Minute), config.Config{Jobs: 1}, ""},
		"a publish that failed in the end":            {refused().unseen().returns("submit_publish").fails().wait(time.Minute), config.Config{Jobs: 1}, "job-1: the submit_publish of submitter at step 2 failed, nothing was stored, and submitter did not publish it again"},
		"a publish that ended well":                   {refused().unseen().returns("submit_publish").wait(time.Minute), config.Config{Jobs: 1}, ""},
		"a publish whose client crashed":              {refused().control("crash", "submitter").control("restart", "submitter").wait(time.Minute), config.Config{Jobs: 1}, ""},
		"a publish whose client is away":              {refused().control("pause", "submitter").wait(time.Minute), config.Config{Jobs: 1}, unjudged},
		"a job too few, but its client is cut off":    {calm().control("partition nats", "submitter"), config.Config{Jobs: 2}, unjudged},
		"an approval whose client has looked again":   {calm().add("approver", sim.KindPublish, "", history.SubjectSubmit, job1, "approve_publish").fails().op("approver", job1, "approve_write").wait(time.Minute), config.Config{Jobs: 1}, ""},
		"an approval whose client looks for no other": {calm().add("approver", sim.KindPublish, "", history.SubjectSubmit, job1, "approve_publish").fails().wait(time.Minute), config.Config{Jobs: 1}, "job-1: the approve_publish of approver at step 3 failed, nothing was stored, and approver did not publish it again"},
	} {
		o := outcomeOf(c.s.judge(c.cfg), "workload-is-submitted")
		if c.says == unjudged {
			assert.Zero(t, o.Exercised+len(o.Violations), name)
			continue
		}
		assert.Positive(t, o.Exercised, name)
		if c.says == "" {
			assert.Empty(t, o.Violations, name)
		} else if assert.Len(t, o.Violations, 1, name) {
			assert.Equal(t, c.says, o.Violations[0].Message, name)
		}
	}
}
