//go:build !linux

package tempdir

// Room is how many bytes are free where path is; known says whether that can be told.
func Room(string) (free uint64, known bool) { return 0, false }
