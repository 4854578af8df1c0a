package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/world"
)

// failHow is how the worker of a job fails, as workload.fail says it.
type failHow struct {
	reasonCode string
	times      int           // of the job's executions, its replays' among them
	committed  bool          // the effect is had all the same
	succeeds   time.Duration // after which the worker reports a success after all; 0 is never
}

// failWords are the numbers that read better as words.
var failWords = map[string]int{"once": 1, "twice": 2}

// parseFailing reads a value of workload.fail. The error says what would be right.
func parseFailing(text string) (f failHow, err error) {
	parts := strings.Split(text, ";")
	f = failHow{reasonCode: strings.TrimSpace(parts[0]), times: 1}
	if !slices.Contains(dlq.ReasonCodes(), f.reasonCode) {
		return f, fmt.Errorf("begin with a reason code, one of %s", strings.Join(dlq.ReasonCodes(), ", "))
	}
	for _, part := range parts[1:] {
		part = strings.TrimSpace(part)
		count, times := strings.CutSuffix(part, " times")
		after, succeeds := strings.CutPrefix(part, "succeeds after ")
		switch {
		case part == "committed":
			f.committed = true
		case failWords[part] > 0:
			f.times = failWords[part]
		case times:
			f.times, err = strconv.Atoi(count)
		case succeeds:
			f.succeeds, err = time.ParseDuration(after)
		default:
			err = fmt.Errorf("it is not known")
		}
		if err != nil || f.times < 1 || f.succeeds < 0 || succeeds && f.succeeds == 0 {
			return f, fmt.Errorf("after the reason code come, each behind a semicolon, once, twice or 3 times; committed; succeeds after 5s; not %q", part)
		}
	}
	return f, nil
}

func checkFailing(p *Plan) *strictyaml.Error {
	for _, n := range sortedNumbers(p.Workload.Fail) {
		if _, err := parseFailing(p.Workload.Fail[n]); err != nil {
			return &strictyaml.Error{Path: fmt.Sprintf("workload.fail.%d", n), Message: fmt.Sprintf("workload.fail.%d is %.80q", n, p.Workload.Fail[n]), Remedy: err.Error()}
		}
	}
	return nil
}

func sortedNumbers[V any](m map[int]V) (list []int) {
	for n := range m {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// numberOf is the number of a job of the workload, or of the one that a job replays.
func numberOf(jobID string) (n int, ok bool) {
	original, _, _ := strings.Cut(jobID, "-replay-")
	n, err := strconv.Atoi(strings.TrimPrefix(original, "job-"))
	return n, err == nil
}

// failures counts how often the executions of each job have failed, on whatever worker.
type failures struct {
	workload *Workload
	mu       sync.Mutex
	done     map[int]int // by the job's number
}

// of says how an execution that is over now has failed, or nil. A replay is of the job that it replays.
func (f *failures) of(jobID string) *world.Failure {
	n, ok := numberOf(jobID)
	text, fails := f.workload.Fail[n]
	if !ok || !fails {
		return nil
	}
	how, _ := parseFailing(text) // the plan is valid
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done[n] == how.times {
		return nil
	}
	f.done[n]++
	return &world.Failure{ReasonCode: how.reasonCode, Committed: how.committed, Succeeds: how.succeeds}
}
