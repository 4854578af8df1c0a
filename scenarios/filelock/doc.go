// Package filelock lets one process at a time have a file, and what the file stands for. A process
// that is killed gives it back.
package filelock
