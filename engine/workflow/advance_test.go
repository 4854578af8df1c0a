package workflow

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

var began = time.Unix(1000, 250*int64(time.Millisecond))

// under is a run in a test, with the records of its jobs.
type under struct {
	*Run
	t       *testing.T
	records map[string]*store.Record
}

func begun(t *testing.T, steps ...Step) *under {
	r := &Run{RunID: "run-1", WorkflowID: "wf-1", Steps: steps}
	for i := range r.Steps {
		r.Steps[i].Topic = "job.default"
	}
	require.NoError(t, r.Validate())
	r.begin(began)
	return &under{r, t, map[string]*store.Record{}}
}

// at advances the run so long after its start.
func (u *under) at(after time.Duration) *under {
	u.Run.advance(u.records, began.Add(after))
	return u
}

// ends has the job of a step end so long after the run's start.
func (u *under) ends(id string, state job.State, after time.Duration) *store.Record {
	s := u.step(id)
	require.Equal(u.t, StepSubmitted, s.State, id)
	packet, err := json.Marshal(s.request(u.Run, 0, s.Attempt))
	require.NoError(u.t, err)
	rec := &store.Record{JobID: s.JobID, State: state, UpdatedAt: began.Add(after), Packet: packet}
	u.records[s.JobID] = rec
	return rec
}

// wakes is when the earliest is over of the delays that are as long as that; the zero time for none.
func (u *under) wakes(length time.Duration) time.Time {
	at, _ := u.next(length)
	return at
}

func (u *under) states() (list []StepState) {
	for _, s := range u.Steps {
		list = append(list, s.State)
	}
	return list
}

func TestStepsInOrder(t *testing.T) {
	u := begun(t, Step{ID: "a"}, Step{ID: "b", DependsOn: []string{"a"}}, Step{ID: "c", DependsOn: []string{"a"}}, Step{ID: "d", DependsOn: []string{"b", "c"}})
	assert.Equal(t, []StepState{StepSubmitted, StepPending, StepPending, StepPending}, u.at(0).states())
	assert.False(t, u.Run.advance(u.records, began.Add(time.Hour)), "nothing has happened")
	u.ends("a", job.Running, time.Second)
	assert.Equal(t, []StepState{StepSubmitted, StepPending, StepPending, StepPending}, u.at(time.Second).states())
	u.ends("a", job.Succeeded, time.Second)
	assert.Equal(t, []StepState{StepSucceeded, StepSubmitted, StepSubmitted, StepPending}, u.at(time.Second).states())
	u.ends("b", job.Succeeded, time.Second)
	assert.Equal(t, []StepState{StepSucceeded, StepSucceeded, StepSubmitted, StepPending}, u.at(time.Second).states())
	u.ends("c", job.Succeeded, time.Second)
	assert.Equal(t, []StepState{StepSucceeded, StepSucceeded, StepSucceeded, StepSubmitted}, u.at(time.Second).states())
	u.ends("d", job.Succeeded, time.Second)
	assert.Equal(t, Succeeded, u.at(time.Second).State)
	assert.False(t, u.Run.advance(u.records, began.Add(time.Hour)), "it is over")
}

func TestADelayCountsFromWhatTheStepDependsOn(t *testing.T) {
	u := begun(t, Step{ID: "a"}, Step{ID: "b", DependsOn: []string{"a"}, DelaySec: 30}, Step{ID: "c", DependsOn: []string{"a"}, DelaySec: 20}).at(0)
	u.ends("a", job.Succeeded, 5*time.Second)
	u.at(12 * time.Second) // noticed late
	assert.Equal(t, []StepState{StepSucceeded, StepWaiting, StepWaiting}, u.states())
	assert.Equal(t, began.Add(25*time.Second), u.wakes(0), "the earliest")
	assert.Equal(t, StepWaiting, u.at(25*time.Second - time.Millisecond).Steps[2].State)
	assert.Equal(t, []StepState{StepSucceeded, StepWaiting, StepSubmitted}, u.at(25*time.Second).states())
	assert.Equal(t, began.Add(35*time.Second), u.wakes(0))
}

// Whether a delay is long is a matter of its own length, not of what is left of it or of what comes before it.
func TestTheEarliestOfTheLongDelays(t *testing.T) {
	u := begun(t, Step{ID: "a"}, Step{ID: "b", DependsOn: []string{"a"}, DelaySec: 9}, Step{ID: "c", DependsOn: []string{"a"}, DelaySec: 18},
		Step{ID: "d", DependsOn: []string{"a"}, DelaySec: 10}, Step{ID: "e", DependsOn: []string{"a"}, DelayUntil: began.Add(17 * time.Second).UnixMilli()}).at(0)
	u.ends("a", job.Succeeded, 5*time.Second)
	u.at(13 * time.Second) // noticed late
	assert.Equal(t, began.Add(14*time.Second), u.wakes(0))
	assert.Equal(t, began.Add(15*time.Second), u.wakes(10*time.Second), "of exactly that length")
	assert.Equal(t, began.Add(17*time.Second), u.at(15*time.Second).wakes(10*time.Second))
	assert.Equal(t, began.Add(23*time.Second), u.at(17*time.Second).wakes(10*time.Second))
	assert.Zero(t, u.at(23*time.Second).wakes(10*time.Second))
	assert.Zero(t, begun(t, Step{ID: "a", DelayUntil: began.Add(9 * time.Second).UnixMilli()}).at(0).wakes(10*time.Second))
}

// A back-off is a delay from the failure on.
func TestALongBackoff(t *testing.T) {
	u := begun(t, Step{ID: "a", Retry: Retry{Max: 2, BackoffMS: 5_000}}).at(0)
	u.ends("a", job.Failed, time.Second)
	assert.Zero(t, u.at(time.Second).wakes(10*time.Second))
	u.at(6*time.Second).ends("a", job.Failed, 7*time.Second)
	assert.Equal(t, began.Add(17*time.Second), u.at(8*time.Second).wakes(10*time.Second))
}

func TestADelayUntil(t *testing.T) {
	u := begun(t, Step{ID: "a", DelaySec: 5, DelayUntil: began.Add(time.Minute).UnixMilli()})
	assert.Equal(t, StepWaiting, u.at(59 * time.Second).Steps[0].State)
	assert.Equal(t, StepSubmitted, u.at(time.Minute).Steps[0].State)
}

func TestAStepIsTriedAgain(t *testing.T) {
	u := begun(t, Step{ID: "a", Retry: Retry{Max: 2, BackoffMS: 10_000}}).at(0)
	u.ends("a", job.Failed, time.Second)
	assert.Equal(t, StepWaiting, u.at(2 * time.Second).Steps[0].State)
	assert.Equal(t, began.Add(11*time.Second), u.wakes(0))
	assert.Equal(t, "run-1-a-2", u.at(11 * time.Second).Steps[0].JobID)
	u.ends("a", job.Timeout, 12*time.Second)
	u.at(12 * time.Second)
	assert.Equal(t, began.Add(32*time.Second), u.wakes(0), "the back-off doubles")
	u.at(32 * time.Second)
	u.ends("a", job.Failed, 33*time.Second).ReasonCode = "boom"
	u.at(34 * time.Second)
	assert.Equal(t, Failed, u.State)
	assert.Equal(t, "step a: run-1-a-3 is FAILED (boom)", u.Reason)
	assert.Zero(t, u.wakes(0))
}

// What was decided of a job stands, and so does its worker's word that the failure is final.
func TestWhatIsNotTriedAgain(t *testing.T) {
	for _, state := range []job.State{job.Cancelled, job.Denied, job.OutputQuarantined, job.Failed} {
		u := begun(t, Step{ID: "a", Retry: Retry{Max: 2}}, Step{ID: "b", DelaySec: 60}).at(0)
		u.ends("a", state, time.Second).Fatal = state == job.Failed
		assert.Equal(t, Failed, u.at(2*time.Second).State, state)
		assert.Equal(t, []StepState{StepFailed, StepWaiting}, u.at(time.Hour).states(), "nothing more is submitted")
		assert.Zero(t, u.wakes(0))
	}
}

func TestAJobOfSomebodyElsesIsNoSuccess(t *testing.T) {
	u := begun(t, Step{ID: "a"}).at(0)
	u.ends("a", job.Succeeded, time.Second).Packet = []byte(`{"job_id":"run-1-a-1"}`)
	assert.Equal(t, "step a: run-1-a-1 is a job of somebody else's", u.at(2*time.Second).Reason)
}
