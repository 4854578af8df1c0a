package routing

import (
	"slices"
	"strings"

	"github.com/faultline-sim/faultline/engine/job"
)

// Prefixes of the label hints that bind whoever is picked (seed 003, section 5). What follows the prefix
// is the key of the hint.
const (
	hintPlacement  = "placement"  // placement.zone=a: the worker's label zone is a
	hintConstraint = "constraint" // constraint.gpu=true: the worker has the capability gpu; constraint.cuda=12: it has cuda=12
	hintNode       = "node"       // node.arch=arm64: the worker's label node.arch is arm64
)

// hinted says whether a job's labels bind whoever is picked.
func hinted(labels map[string]string) bool {
	for label := range labels {
		kind, _, ok := strings.Cut(label, ".")
		if ok && (kind == hintPlacement || kind == hintConstraint || kind == hintNode) {
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
