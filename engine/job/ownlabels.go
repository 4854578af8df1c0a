package job

import (
	"maps"
	"strings"
)

// Labels that say of a job that it replays another (Dead letters).
const (
	LabelReplayOf    = "replay_of"    // the original's id
	LabelReplayCount = "replay_count" // which of its replays this is, from 1
)

// WithoutOwnLabels is a copy of a job's labels, never nil, without those that are true of that job alone: what it
// replays, and its approval. A job that is made of another, to replay it or to undo it, starts from these.
func WithoutOwnLabels(labels map[string]string) map[string]string {
	m := maps.Clone(labels)
	if m == nil {
		m = map[string]string{}
	}
	maps.DeleteFunc(m, func(label, _ string) bool {
		return label == LabelReplayOf || label == LabelReplayCount ||
			strings.HasPrefix(label, "approval_") || strings.HasPrefix(label, "approved_")
	})
	return m
}
