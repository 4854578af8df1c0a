package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/alerts"
)

// Each alert is explained, with a scenario in which it fires under the preset documented.
func TestAlertsAreExplained(t *testing.T) {
	fired, err := os.ReadFile("../../scenarios/alerts/testdata/alerts.tsv")
	require.NoError(t, err)
	list := alertsOf(alerts.Rules)
	assert.Len(t, list, strings.Count(string(alerts.Rules), "- alert: "))
	for _, a := range list {
		assert.Contains(t, string(fired), "\n"+firesIn[a.Name]+"\tdocumented\t"+a.Name+"\t")
		assert.Contains(t, explainAlert(a), a.Annotations.Description)
	}
}
