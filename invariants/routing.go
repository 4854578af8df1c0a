package invariants

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// What holds of where jobs go (Scheduler internals, section 5).
var routingInvariants = []rule{dispatchRespectsPlacement}

// RoutingConfig says which pools there are. The zero value judges no pool.
type RoutingConfig struct {
	Topics map[string][]string // the pools that serve a topic
	Offers map[string][]string // what a pool offers to jobs that require it
}

// usualTopic is the one of which every pool is the default.
const usualTopic = "job.default"

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

// unmet says what of the wish the worker does not meet, by its own word; "" if it meets all of it.
func (w *wish) unmet(l *load, cfg *RoutingConfig) string {
	labels := w.labels
	if len(w.constraints) > 0 {
		labels = maps.Clone(w.labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, w.constraints)
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		asked := label + "=" + labels[label]
		met := true
		switch before, key, _ := strings.Cut(label, "."); before {
		case "placement":
			has, ok := l.labels[key]
			met = ok && has == labels[label]
		case "node":
			has, ok := l.labels[label]
			met = ok && has == labels[label]
		case "constraint":
			able := key + "=" + labels[label]
			if v := labels[label]; v == "" || v == "true" {
				able = key
			}
			met = slices.Contains(l.capabilities, able)
		case "preferred_pool":
			met = l.pool == labels[label]
		}
		if !met {
			return asked
		}
	}
	if pools, known := cfg.Topics[w.topic]; known && !slices.Contains(pools, l.pool) {
		return "a pool of " + w.topic
	}
	for _, capability := range w.requires {
		if !slices.Contains(cfg.Offers[l.pool], capability) {
			return "a pool that offers " + capability
		}
	}
	return ""
}

var dispatchRespectsPlacement = checking(Invariant{
	Name:   "dispatch-respects-placement",
	Says:   "A dispatch is published to a worker that, by its heartbeats, satisfies every hint of the job's labels and of its constraints, in a pool that serves the job's topic and offers what the job requires.",
	Kind:   Always,
	Source: "Scheduler internals, section 5, label hints and eligible pools",
}, func(f *facts, t *tally) checker {
	return checker{sent: func(s *step) {
		at, _, ok := f.picker(s)
		w := &s.job.wish
		if at.worker == "" || !ok || !w.particular() {
			return
		}
		known, heard := f.heard[at]
		if !heard || !known.load.known {
			return // that it picked whom it had never heard of is another matter
		}
		t.exercise()
		if unmet := w.unmet(&known.load, &f.cfg.Routing); unmet != "" {
			t.violated(s.job, "%s published to %s at step %d, although the job asks for %s; %s says that it is of the pool %s, with the labels %v and the capabilities %v",
				Who(s.Event), s.Target, s.Step, unmet, at.worker, known.load.pool, known.load.labels, known.load.capabilities)
		}
	}}
})
