// Package ledger follows findings from night to night: which are new, which go on, which are gone, and which are back.
//
// A finding has a [campaign.Fingerprint], which does not hang on names, seeds and lines of code. The ledger is a folder with a file for
// each: an [Entry], with the smallest plan of the last night that had it. [Ledger.Triage] holds a night's campaigns against it, and
// [Ledger.Write] keeps what came of that. A finding is resolved once so many plans were clean of it that there is one chance
// in a hundred, at most, that it is still there, by how often it was hit before.
//
// Beside the findings is a line for each night, a [Past], of which a page over all of them is made.
//
// Its files, each of which calls only those after it:
//
//	triage.go  a night, held against the ledger
//	ledger.go  the folder
//	past.go    what is kept of a night
//	night.go   what a night's campaigns found
//	entry.go   a finding as a file
//	doubt.go   how sure it is that a finding is gone
package ledger
