package judge

import "encoding/json"

// wish is what a job asks for of whoever gets it.
type wish struct {
	labels      map[string]string
	requires    []string
	topic       string
	constraints map[string]string // that the safety kernel has laid upon it
}

// particular says whether the job asks for more than the usual topic.
func (w *wish) particular() bool {
	return len(w.labels)+len(w.requires)+len(w.constraints) > 0 || w.topic != "" && w.topic != usualTopic
}

// constrain takes in the record's constraints, as JSON.
func (w *wish) constrain(text string) {
	w.constraints = nil
	_ = json.Unmarshal([]byte(text), &w.constraints)
}

// usualTopic is the one of which every pool is the default.
const usualTopic = "job.default"
