// Package onecpu has a process and its server stay on one processor.
package onecpu

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// ownCPU is the processor that this process and its redis-server stay on: a world and the server take turns, and to wake another
// processor for each turn takes longer than the turn. nil is none: each such process has one of its own, if there is one left.
var ownCPU = sync.OnceValue(func() *unix.CPUSet {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil || allowed.Count() < 2 {
		return nil
	}
	for cpu := range len(allowed) * strconv.IntSize {
		if allowed.IsSet(cpu) && takeCPU(cpu) {
			own := &unix.CPUSet{}
			own.Set(cpu)
			threads, _ := os.ReadDir("/proc/self/task") // one that comes later is where the one is that starts it
			for _, t := range threads {
				if id, err := strconv.Atoi(t.Name()); err == nil {
					_ = unix.SchedSetaffinity(id, own)
				}
			}
			return own
		}
	}
	return nil
})

// Share has the process of a server be where this process is, if that runs on one processor at a time.
func Share(server int) {
	if runtime.GOMAXPROCS(0) > 1 {
		return
	}
	if own := ownCPU(); own != nil {
		_ = unix.SchedSetaffinity(server, own)
	}
}

// takeCPU takes a name that one process at a time can have, and that is free when the process is gone: an abstract socket's.
func takeCPU(cpu int) bool {
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	if err := unix.Bind(socket, &unix.SockaddrUnix{Name: fmt.Sprintf("@wavetank-cpu-%d", cpu)}); err != nil {
		_ = unix.Close(socket)
		return false
	}
	return true
}
