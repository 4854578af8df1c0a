package tempdir

import "syscall"

// Room returns how many bytes are free at path; known is false if that cannot be determined.
func Room(path string) (free uint64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(path, &s) != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
