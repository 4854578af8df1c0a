// Package cli is what the project's command lines share: how a program runs and ends, the look of flags and of their
// errors, printing, progress, signals and files.
//
// A command returns an [*Error], which knows its exit code. Data goes to standard output; all else goes to standard
// error.
package cli
