package main

import (
	"fmt"
	"os"
	"runtime"
)

// loadFile holds the load averages of a Linux machine; that of the last minute is the first.
const loadFile = "/proc/loadavg"

// loadPercent is the machine's load for each processor, in percent; more than 100 is 100.
func loadPercent() (float64, error) {
	data, err := os.ReadFile(loadFile)
	if err != nil {
		return 0, err
	}
	return percentOf(string(data), runtime.NumCPU())
}

func percentOf(averages string, processors int) (percent float64, err error) {
	if _, err := fmt.Sscan(averages, &percent); err != nil {
		return 0, fmt.Errorf("%s: %w", loadFile, err)
	}
	return min(100, 100*percent/float64(processors)), nil
}
