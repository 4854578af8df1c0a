// Package race knows whether a test runs under the race detector.
package race

import "testing"

// SkipLong leaves out a test that the race detector makes several times as long as it may be. It starts processes, or makes many
// runs of a kind that other tests make under the detector.
func SkipLong(t testing.TB) {
	t.Helper()
	if enabled {
		t.Skip("LEFT OUT: under the race detector it takes too long")
	}
}
