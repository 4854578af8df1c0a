package interval

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n, low, high float64
	}{{0, 0, 0, 1}, {0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {55, 60, 0.8193, 0.9639}} {
		low, high := Wilson(c.k, c.n)
		assert.InDelta(t, c.low, low, 1e-4)
		assert.InDelta(t, c.high, high, 1e-4)
	}
}
