// Package onecpu keeps a process and its server on one processor.
package onecpu

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// ownCPU is the processor that this process and its redis-server stay on; nil if there is none. A world and
// the server take turns, and to wake another processor for each turn takes longer than the turn. Each such
// process takes a processor of its own, while there are free ones.
var ownCPU = sync.OnceValue(func() *unix.CPUSet {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil || allowed.Count() < 2 {
		return nil
	}
	for cpu := range len(allowed) * strconv.IntSize {
		if allowed.IsSet(cpu) && takeCPU(cpu) {
			own := &unix.CPUSet{}
			own.Set(cpu)
			threads, _ := os.ReadDir("/proc/self/task") // a later thread inherits the processor of the thread that starts it
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

// Share puts a server's process on the processor of this process, if this process runs on one processor at a
// time.
func Share(server int) {
	if runtime.GOMAXPROCS(0) > 1 {
		return
	}
	if own := ownCPU(); own != nil {
		_ = unix.SchedSetaffinity(server, own)
	}
}

// takeCPU reserves a processor for this process by the name of an abstract socket. One process at a time can
// have the name, and it is free again when the process ends.
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
