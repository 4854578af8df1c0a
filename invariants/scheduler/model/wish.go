package model

import (
	"maps"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// Wish is what a job requires of the worker that gets it.
type Wish struct {
	Labels      map[string]string
	Requires    []string
	Topic       string
	Constraints map[string]string // that the safety kernel has imposed
}

// Particular says whether the job requires more than the usual topic.
func (w *Wish) Particular() bool {
	return len(w.Labels)+len(w.Requires)+len(w.Constraints) > 0 || w.Topic != "" && w.Topic != usualTopic
}

// constrain adds the record's constraints, given as JSON.
func (w *Wish) constrain(text string) {
	c, _ := history.Read[map[string]string](text)
	w.Constraints = *c
}

// usualTopic is the topic that every pool serves by default.
const usualTopic = "job.default"

// The hints by which a job asks for a single pool or worker.
const (
	preferredPool   = "preferred_pool"
	preferredWorker = "preferred_worker_id"
)

// hints are the labels of the wish, overridden by its constraints.
func (w *Wish) hints() map[string]string {
	if len(w.Constraints) == 0 {
		return w.Labels
	}
	labels := map[string]string{}
	maps.Copy(labels, w.Labels)
	maps.Copy(labels, w.Constraints)
	return labels
}

// Unmet says which part of the wish the worker does not meet, by the worker's heartbeat; "" if it meets all
// of it.
func (w *Wish) Unmet(l *history.Load, cfg *config.RoutingConfig) string {
	labels := w.hints()
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
		case preferredPool:
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

// pooled says whether a pool serves the job for sure: its topic, the pool that it prefers, and what it
// requires.
func (w *Wish) pooled(r *config.RoutingConfig) bool {
	preferred := w.hints()[preferredPool]
	if len(r.Topics[w.Topic]) == 0 {
		return (w.Topic == "" || w.Topic == usualTopic) && preferred == "" && len(w.Requires) == 0
	}
	return slices.ContainsFunc(r.Topics[w.Topic], func(pool string) bool {
		lacks := func(capability string) bool { return !slices.Contains(r.Offers[pool], capability) }
		return (preferred == "" || pool == preferred) && !slices.ContainsFunc(w.Requires, lacks)
	})
}
