package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/wavetank-sim/wavetank/sim"
)

// Question is the request to the safety kernel or the output policy.
type Question struct {
	Topic    string            `json:"topic"`
	Tenant   string            `json:"tenant"`
	Labels   map[string]string `json:"labels"`
	Priority string            `json:"priority"` // for the safety kernel, like the next
	Requires []string          `json:"requires"`
	JobHash  string            `json:"job_hash"`
	Replay   bool              `json:"replay"`

	ResultPtr   string `json:"result_ptr"` // for the output policy, like the next
	WithContent bool   `json:"with_content"`
	Content     string `json:"content"` // its gist
}

// QuestionOf returns the question of a call; nil if it cannot be read.
func QuestionOf(e *sim.Event) *Question {
	q, err := Read[Question](e.Asked)
	if err != nil {
		return nil
	}
	return q
}

// Differs names a field in which the question differs from the request, with both values. It is "" if there
// is none. The labels of an approval are ignored.
func (q *Question) Differs(r *Request) (field, is, should string) {
	tenant := cmp.Or(r.Tenant, TenantDefault)
	switch {
	case q.Topic != r.Topic:
		return "topic", q.Topic, r.Topic
	case q.Tenant != tenant:
		return "tenant", q.Tenant, tenant
	case !maps.Equal(ungranted(q.Labels), ungranted(r.Labels)):
		return "labels", fmt.Sprint(q.Labels), fmt.Sprint(r.Labels)
	}
	return "", "", ""
}

// DiffersForKernel is Differs for a question to the safety kernel.
func (q *Question) DiffersForKernel(r *Request) (field, is, should string) {
	_, replays := r.Labels[LabelReplayOf]
	switch {
	case q.Priority != r.Priority:
		return "priority", q.Priority, r.Priority
	case !slices.Equal(q.Requires, r.Requires):
		return "requires", fmt.Sprint(q.Requires), fmt.Sprint(r.Requires)
	case q.Replay != replays:
		return "replay", strconv.FormatBool(q.Replay), strconv.FormatBool(replays)
	}
	if field, is, should = q.Differs(r); field == "" && q.JobHash != r.Hash() {
		return "job_hash", q.JobHash, r.Hash()
	}
	return field, is, should
}
