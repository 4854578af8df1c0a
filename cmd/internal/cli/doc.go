// Package cli is what the project's command lines share: how a program runs and ends, the look of flags and of their
// errors, printing, progress, signals and files.
//
// A command returns an [*Error], which knows its exit code. Data goes to standard output; all else goes to standard
// error.
//
// Its files, each of which calls only those after it:
//
//	program.go   a program from its command to its exit code
//	root.go      what the root command of each has, and how arguments are checked
//	flags.go     what is wrong with a flag
//	renamed.go   variables that have the project's old name
//	print.go     what is printed for people, and as JSON
//	table.go     a table as wide as the terminal
//	progress.go  how far it is, on a terminal or on a line now and then
//	output.go    standard output, and whether it could be written
//	files.go     files that are written whole, and temporary folders
//	signals.go   interrupts
//	exit.go      errors with exit codes
//	name.go      the program's name in its messages
//	text.go      numbers and tables in text
package cli
