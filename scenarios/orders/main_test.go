package orders

import (
	"os"
	"runtime"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1) // a world moves one step at a time: a second thread only has it handed to and fro
	}
	os.Exit(m.Run())
}
