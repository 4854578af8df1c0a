package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"
)

// What holds of where jobs go (Scheduler internals, section 5).
var routingInvariants = []rule{dispatchRespectsPlacement}

// unmet says what of the wish the worker does not meet, by its own word; "" if it meets all of it.
func unmet(w *wish, l *history.Load, cfg *config.RoutingConfig) string {
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
			has, ok := l.Labels[key]
			met = ok && has == labels[label]
		case "node":
			has, ok := l.Labels[label]
			met = ok && has == labels[label]
		case "constraint":
			able := key + "=" + labels[label]
			if v := labels[label]; v == "" || v == "true" {
				able = key
			}
			met = slices.Contains(l.Capabilities, able)
		case "preferred_pool":
			met = l.Pool == labels[label]
		}
		if !met {
			return asked
		}
	}
	if pools, known := cfg.Topics[w.topic]; known && !slices.Contains(pools, l.Pool) {
		return "a pool of " + w.topic
	}
	for _, capability := range w.requires {
		if !slices.Contains(cfg.Offers[l.Pool], capability) {
			return "a pool that offers " + capability
		}
	}
	return ""
}

var dispatchRespectsPlacement = checking(invariants.Invariant{
	Name:   "dispatch-respects-placement",
	Says:   "A dispatch is published to a worker that, by its heartbeats, satisfies every hint of the job's labels and of its constraints, in a pool that serves the job's topic and offers what the job requires.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, label hints and eligible pools",
}, func(f *facts, t *tally) checker {
	return checker{sent: func(s *step) {
		at, _, ok := picker(f, s)
		w := &s.about.wish
		if at.worker == "" || !ok || !w.particular() {
			return
		}
		known, heard := f.heard[at]
		if !heard || !known.load.Known {
			return // that it picked whom it had never heard of is another matter
		}
		t.exercise()
		if unmet := unmet(w, &known.load, &f.config.Routing); unmet != "" {
			t.violated(s.about, "%s published to %s at step %d, although the job asks for %s; %s says that it is of the pool %s, with the labels %v and the capabilities %v",
				invariants.Who(s.Event), s.Target, s.Step, unmet, at.worker, known.load.Pool, known.load.Labels, known.load.Capabilities)
		}
	}}
})
