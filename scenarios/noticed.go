package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/samples"
)

// Noticed compares an alert with the events of the run: how long before or after the first timeout and the
// first violation it fired, and how long a job had been blind by then.
func (res *Result) Noticed(a samples.Alert) string {
	when := "At " + at(a.Fired)
	if a.Fired > res.Virtual {
		when += ", at the scrape after the end of the run,"
	}
	said := []string{fmt.Sprintf("%s the alert %s fired: %s", when, a.Name, a.Summary)}
	for _, j := range res.Jobs {
		if w := j.Blind; w != nil && w.Opened <= a.Fired && (w.Open || a.Fired < w.Closed) {
			lasted := "and would be to the end"
			if !w.Open {
				lasted = "of " + at(w.Closed-w.Opened)
			}
			said = append(said, fmt.Sprintf("%s had been blind for %s then, %s.", j.ID, at(a.Fired-w.Opened), lasted))
			break
		}
	}
	if job, first := res.firstTimeout(); job != "" {
		said = append(said, fmt.Sprintf("The first TIMEOUT, of %s, came %s.", job, apart(a.Fired, first)))
	}
	if v := res.firstViolation(); v != nil {
		said = append(said, fmt.Sprintf("The first violation, of %s, was found %s.", v.Invariant, apart(a.Fired, v.At)))
	}
	if len(said) == 1 {
		said = append(said, "No job timed out, and no invariant was violated.")
	}
	return strings.Join(said, " ")
}

// apart says how long before or after an alert something came.
func apart(fired, other time.Duration) string {
	if other < fired {
		return at(fired-other) + " before it"
	}
	return at(other-fired) + " after it"
}

func (res *Result) firstTimeout() (job string, first time.Duration) {
	for _, j := range res.Jobs {
		for _, p := range j.Path {
			if p.State == "TIMEOUT" && (job == "" || p.At < first) {
				job, first = j.ID, p.At
			}
		}
	}
	return job, first
}

func (res *Result) firstViolation() (first *Violation) {
	for i := range res.Violations {
		if v := &res.Violations[i]; first == nil || v.At < first.At {
			first = v
		}
	}
	return first
}
