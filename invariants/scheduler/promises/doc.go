// Package promises is the promise matrix of the scheduler: under which strikes each invariant is promised,
// with which settings, and why not under others. It is data: matrix.go has the matrix, and provisions.go the
// settings that it names.
//
// Each release has a witness: a plan in scenarios/testdata/witnesses that breaks the invariant by a strike of
// that kind, without that setting, or in that gap. A test runs all of them.
package promises
