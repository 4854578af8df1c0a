package routing

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Prefixes of the label hints that bind whoever is picked (Scheduler internals, section 5). What follows the prefix
// is the key of the hint.
const (
	hintPlacement  = "placement"  // placement.zone=a: the worker's label zone is a
	hintConstraint = "constraint" // constraint.gpu=true: the worker has the capability gpu; constraint.cuda=12: it has cuda=12
	hintNode       = "node"       // node.arch=arm64: the worker's label node.arch is arm64
)

// hintKinds are those prefixes.
var hintKinds = []string{hintPlacement, hintConstraint, hintNode}

// Hints are the labels that bear on who is picked, as a person reads of them.
const Hints = job.LabelPreferredPool + ", " + job.LabelPreferredWorker + ", " + hintPlacement + ".KEY, " + hintConstraint + ".KEY and " + hintNode + ".KEY"

// IsHint says whether a label bears on who is picked.
func IsHint(label string) bool {
	kind, key, _ := strings.Cut(label, ".")
	return label == job.LabelPreferredPool || label == job.LabelPreferredWorker || key != "" && slices.Contains(hintKinds, kind)
}

// HintsLike are hints that a label may have been meant for.
func HintsLike(label string) []string {
	list := []string{job.LabelPreferredPool, job.LabelPreferredWorker}
	if _, key, ok := strings.Cut(label, "."); ok {
		for _, kind := range hintKinds {
			list = append(list, kind+"."+key)
		}
	}
	return list
}

// hinted says whether a job's labels bind whoever is picked.
func hinted(labels map[string]string) bool {
	for label := range labels {
		kind, _, ok := strings.Cut(label, ".")
		if ok && slices.Contains(hintKinds, kind) {
			return true
		}
	}
	return false
}

// fits says whether the worker satisfies every hint among a job's labels.
func fits(w *job.Heartbeat, labels map[string]string) bool {
	for label, want := range labels {
		kind, key, ok := strings.Cut(label, ".")
		if !ok {
			continue
		}
		switch kind {
		case hintPlacement:
			if has, ok := w.Labels[key]; !ok || has != want {
				return false
			}
		case hintNode:
			if has, ok := w.Labels[label]; !ok || has != want {
				return false
			}
		case hintConstraint:
			if !slices.Contains(w.Capabilities, capability(key, want)) {
				return false
			}
		}
	}
	return true
}

// capability is how a worker names what a constraint asks for.
func capability(key, want string) string {
	if want == "" || want == "true" {
		return key
	}
	return key + "=" + want
}
