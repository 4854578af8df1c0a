package model

import "github.com/wavetank-sim/wavetank/invariants/scheduler/history"

// Wish is what a job asks for of whoever gets it.
type Wish struct {
	Labels      map[string]string
	Requires    []string
	Topic       string
	Constraints map[string]string // that the safety kernel has laid upon it
}

// Particular says whether the job asks for more than the usual topic.
func (w *Wish) Particular() bool {
	return len(w.Labels)+len(w.Requires)+len(w.Constraints) > 0 || w.Topic != "" && w.Topic != usualTopic
}

// constrain takes in the record's constraints, as JSON.
func (w *Wish) constrain(text string) {
	c, _ := history.Read[map[string]string](text)
	w.Constraints = *c
}

// usualTopic is the one of which every pool is the default.
const usualTopic = "job.default"
