package plans

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Whatever a plan can say is explained.
func TestSectionsExplainEveryKey(t *testing.T) {
	var names []string
	for _, s := range Sections() {
		names = append(names, s.Name)
		assert.NotEmpty(t, s.Doc, s.Name)
		assert.NotEmpty(t, s.Keys, s.Name)
		for _, k := range s.Keys {
			assert.NotEmpty(t, k.Doc, "%s.%s", s.Name, k.Name)
		}
	}
	for _, s := range Sections() {
		for _, k := range s.Keys {
			assert.True(t, k.Section == "" || slices.Contains(names, k.Section), "%s.%s leads to %s", s.Name, k.Name, k.Section)
		}
	}
	assert.Subset(t, names, []string{"plan", "engine", "engine.policy", "kernel", "kernel.rules", "kernel.output", "kernel.then", "workload", "triage", "triage.dlq_rules", "faults", "faults.on", "faults.after", "expect.hardened"})
	assert.NotContains(t, names, "kernel.then.rules", "it is as kernel.rules")
}
