package tempdir

import "syscall"

// Room is how many bytes are free where path is; known says whether that can be told.
func Room(path string) (free uint64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(path, &s) != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
