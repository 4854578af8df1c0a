package campaign

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/buildname"
)

// Elsewhere makes the runs of a campaign on other machines. Broken promises are examined here.
type Elsewhere interface {
	// Begin starts the runs of a job, except those that done says are done. It returns a channel with the
	// results, in any order and maybe more than once. The channel is never closed.
	Begin(ctx context.Context, job Job, done func(n int) bool) (<-chan Arrival, error)
	// End ends the work. over says that all is done; otherwise somebody will go on.
	End(over bool)
	// Over is called instead of Begin and End if the campaign is over already. The process that ran it may
	// have died before End.
	Over(ctx context.Context, job Job)
}

// Job is, as data, what a machine needs to know to make runs of a campaign.
type Job struct {
	Version   int           `json:"version"`
	Build     string        `json:"build"`
	Program   string        `json:"program"` // a hash of the workers' executable: two builds may have one name
	Spec      Spec          `json:"spec"`
	Timeout   time.Duration `json:"run_timeout_ns"`
	MemoryMax int64         `json:"memory_bytes"`
}

// Digest identifies the job.
func (j *Job) Digest() string {
	text, err := json.Marshal(j)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// Runs returns the range of runs: from first up to but not including end.
func (j *Job) Runs() (first, end int) {
	s := j.Spec.span()
	return s.first, s.end
}

// Arrival is a message from another machine. Exactly one of Record, Lost and Err is set.
type Arrival struct {
	Record *Record
	From   string // the machine's name
	Lost   *Chunk // nobody else will do this chunk: it must be done here
	Err    error  // nothing more will come
}

// Chunk is a range of runs.
type Chunk struct {
	First int `json:"first"`
	Count int `json:"count"`
}

// jobOf returns the job of a campaign for programs with that hash.
func jobOf(spec *Spec, opt *Options, program string) Job {
	return Job{SpecVersion, buildname.Of(), program, *spec, opt.RunTimeout, opt.MemoryMax}
}

// sendAway has the runs done elsewhere, if the options say so.
func (s *supervisor) sendAway() (err error) {
	if s.opt.Elsewhere == nil {
		return nil
	}
	if s.todo.end == endless {
		return errors.New("runs on other machines take a budget in runs: how many runs fit into a time differs from machine to machine")
	}
	s.todo.next = s.todo.end // only runs that come back are handed out here
	done := s.todo.done
	s.elsewhere, err = s.opt.Elsewhere.Begin(s.ctx, jobOf(&s.spec, &s.opt, s.program), done.has)
	return err
}

// arrived handles a message from elsewhere. A run that comes twice must be equal.
func (s *supervisor) arrived(a Arrival) {
	switch {
	case a.Err != nil:
		s.fail(a.Err)
	case a.Lost != nil:
		for n := a.Lost.First; n < a.Lost.First+a.Lost.Count; n++ {
			if s.todo.has(n) {
				s.todo.back(n)
			}
		}
	case !s.todo.has(a.Record.N) || !a.Record.agrees():
		s.fail(fmt.Errorf("%s has answered with run %d, which this campaign does not have", a.From, a.Record.N))
	case !s.todo.done.has(a.Record.N):
		s.record(a.Record)
	default:
		s.compare(a.Record, a.From)
	}
}

// allDone says whether no run is left, here or elsewhere.
func (s *supervisor) allDone() bool {
	if s.elsewhere != nil {
		return s.fold.runs >= s.todo.size()
	}
	return s.todo.empty()
}
