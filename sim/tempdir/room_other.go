//go:build !linux

package tempdir

// Room returns how many bytes are free at path; known is false if that cannot be determined.
func Room(string) (free uint64, known bool) { return 0, false }
