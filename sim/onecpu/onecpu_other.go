//go:build !linux

package onecpu

// Share does nothing: the system chooses the processor.
func Share(int) {}
