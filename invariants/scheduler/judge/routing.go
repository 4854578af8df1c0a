package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// What holds of where jobs go (Scheduler internals, section 5).
var routingInvariants = []rule.Rule{dispatchRespectsPlacement}

// unmet says what of the wish the worker does not meet, by its own word; "" if it meets all of it.
func unmet(w *model.Wish, l *history.Load, cfg *config.RoutingConfig) string {
	labels := w.Labels
	if len(w.Constraints) > 0 {
		labels = maps.Clone(w.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, w.Constraints)
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
	if pools, known := cfg.Topics[w.Topic]; known && !slices.Contains(pools, l.Pool) {
		return "a pool of " + w.Topic
	}
	for _, capability := range w.Requires {
		if !slices.Contains(cfg.Offers[l.Pool], capability) {
			return "a pool that offers " + capability
		}
	}
	return ""
}

var dispatchRespectsPlacement = rule.New(invariants.Invariant{
	Name:   "dispatch-respects-placement",
	Says:   "A dispatch is published to a worker that, by its heartbeats, satisfies every hint of the job's labels and of its constraints, in a pool that serves the job's topic and offers what the job requires.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, label hints and eligible pools",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Sent: func(s *model.Step) {
		at, _, ok := picker(f, s)
		w := &s.About.Wish
		if at.Worker == "" || !ok || !w.Particular() {
			return
		}
		known := f.Ear(at)
		if known == nil || !known.Load.Known {
			return // that it picked whom it had never heard of is another matter
		}
		t.Exercise()
		if unmet := unmet(w, &known.Load, &f.Config.Routing); unmet != "" {
			t.Violation(s.About, "%s published to %s at step %d, although the job asks for %s; %s says that it is of the pool %s, with the labels %v and the capabilities %v",
				invariants.Who(s.Event), s.Target, invariants.StepNo(s.Step), unmet, at.Worker, known.Load.Pool, known.Load.Labels, known.Load.Capabilities)
		}
	}}
})
