// Package promises is the promise matrix of the scheduler: under which strikes each invariant is promised, with which
// settings, and why not under others. It is data, in matrix.go; provisions.go has the settings that it names.
//
// Each release has a witness: a plan in scenarios/testdata/witnesses that breaks the invariant by a strike of that kind, for
// want of that setting, or in that gap. A test runs them all.
package promises
