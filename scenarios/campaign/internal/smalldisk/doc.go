// Package smalldisk gives a test a disk that it can fill. Only Linux can.
package smalldisk
