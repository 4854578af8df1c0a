package filelock

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// Of LockFileEx.
const (
	failImmediately = 1
	exclusive       = 2

	errLockViolation syscall.Errno = 33
)

// TryLock takes f for this process, for as long as it lives and has f open. It says false if another
// process has it. What is locked is a byte far behind the file's end: locks of Windows keep others
// from reading.
func TryLock(f *os.File) (bool, error) {
	at := syscall.Overlapped{OffsetHigh: 1 << 30}
	ok, _, err := lockFileEx.Call(f.Fd(), exclusive|failImmediately, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	if ok == 0 && errors.Is(err, errLockViolation) {
		return false, nil
	} else if ok == 0 {
		return false, err
	}
	return true, nil
}
