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

// Elsewhere does the runs of a campaign on other machines. What breaks a promise is examined here.
type Elsewhere interface {
	// Begin is told what is to be run, and which of its runs are done; it returns where what comes of the others is heard,
	// in any order and more than once. The channel is never closed.
	Begin(ctx context.Context, job Job, done func(n int) bool) (<-chan Arrival, error)
	// End says that no more is asked for: over says whether all is done, or whether somebody will go on.
	End(over bool)
	// Over is told instead of both that the campaign is over already. Whoever ran it may have died before End.
	Over(ctx context.Context, job Job)
}

// Job is all that a machine has to know to do runs of a campaign, as data.
type Job struct {
	Version   int           `json:"version"`
	Build     string        `json:"build"`
	Program   string        `json:"program"` // a hash of the workers' executable: two builds may have one name
	Spec      Spec          `json:"spec"`
	Timeout   time.Duration `json:"run_timeout_ns"`
	MemoryMax int64         `json:"memory_bytes"`
}

// Digest tells jobs apart.
func (j *Job) Digest() string {
	text, err := json.Marshal(j)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// Runs is which runs there are: from first on, to the one before end.
func (j *Job) Runs() (first, end int) {
	s := j.Spec.span()
	return s.first, s.end
}

// Arrival is something that came from another machine. Exactly one of Record, Lost and Err is set.
type Arrival struct {
	Record *Record
	From   string // whose it is
	Lost   *Chunk // nobody has done it, and nobody will: it is done here
	Err    error  // nothing more will come
}

// Chunk is runs in a row.
type Chunk struct {
	First int `json:"first"`
	Count int `json:"count"`
}

// jobOf is what there is to do of a campaign for programs of that hash.
func jobOf(spec *Spec, opt *Options, program string) Job {
	return Job{SpecVersion, buildname.Of(), program, *spec, opt.RunTimeout, opt.MemoryMax}
}

// sendAway lets the runs be done elsewhere, if anybody is to do them there.
func (s *supervisor) sendAway() (err error) {
	if s.opt.Elsewhere == nil {
		return nil
	}
	if s.todo.end == endless {
		return errors.New("runs on other machines take a budget in runs: how many fit into a time is not the same on each machine")
	}
	s.todo.next = s.todo.end // nothing is handed out here but what comes back
	done := s.todo.done
	s.elsewhere, err = s.opt.Elsewhere.Begin(s.ctx, jobOf(&s.spec, &s.opt, s.program), done.has)
	return err
}

// arrived takes what comes from elsewhere. A run that comes twice must be the same.
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
		s.fail(fmt.Errorf("%s has answered what is no run of this campaign: number %d", a.From, a.Record.N))
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
