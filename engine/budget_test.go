package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/settings"
)

// Dead letters: 50 attempts with a back-off of 1 s to 30 s, some 25 minutes. Scheduler internals has the exceptions.
func TestBudgets(t *testing.T) {
	for preset, want := range map[string][]string{
		"documented": {"1m38s", "22m31s", "22m31s", "11m21s", "1m39s"},
		"hardened":   {"23m0s", "22m31s", "22m31s", "24m33s", "47m31s"},
	} {
		s := map[string]settings.Settings{"documented": settings.Documented(), "hardened": settings.Hardened()}[preset]
		var got []string
		for _, b := range Budgets(&s) {
			got = append(got, b.Lasts.Round(time.Second).String())
		}
		assert.Equal(t, want, got, preset)
	}
}
