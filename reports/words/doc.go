// Package words says numbers and times in one notation, on every page and in every summary.
//
// Its files, each of which calls only those after it:
//
//	numbers.go  numbers, estimates and metrics with their units
//	words.go    durations and instants, counts, and texts and lists that are cut short
package words
