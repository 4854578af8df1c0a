// Package reports turns what was run into files that people and CI servers read.
//
// A finished run becomes the files of its folder: plan.yaml, result.json, samples.json and report.html, beside the
// trace.jsonl that the run wrote itself. [Write] makes the folder, [Page] the page alone, [Trace] reads
// a trace back. [Stored.WriteAlerts] adds the alerts that somebody has evaluated.
//
// Many runs become one page: [WriteCampaign] says what a campaign found, or the bound if it found
// nothing, and what it never met; [WriteSweep] answers a sweep's question with a map, curves and the
// Pareto front, and its data as CSV and JSON; [WriteComparisons] puts measured columns into the
// documentation's tables, as a page and as Markdown; [DifferencePage] puts two runs side
// by side; [PowerPage] says which mutants the searches find; [NightsPage] is over the nights that a ledger has kept.
// For CI there are [JUnit], [JUnitTriage], [Annotations] and [Summary], and [Issue] about a finding of the ledger.
//
// [Read] reads any of these folders back, [Stored.Rewrite] makes its page again, and [WriteIndex] makes an
// index of several.
//
// Its files, each of which calls only those after it:
//
//	difference.go                     two runs side by side
//	differenceaxis.go                 and over one axis of time
//	index.go                          the page over many folders
//	trend.go                          its days
//	read.go                           a folder read back
//	nights.go                         the nights of a ledger
//	junit.go, github.go               for CI
//	issue.go                          a finding of the ledger, for GitHub
//	campaign.go, coverage.go          what many runs found and met
//	comparison.go, comparisonview.go  alternatives side by side
//	comparisonverdict.go              what they come to, in words
//	faultmap.go                       every single fault, and every pair
//	power.go                          which mutants the searches find
//	sweep.go, csv.go                  what a sweep measured
//	sweepnumbers.go                   somebody's own numbers over it
//	promises.go                       the promise matrix
//	markdown.go                       text in GitHub's Markdown
//	write.go                          the folder of a run, and files written whole
//	page.go                           the page of a run
//	why.go                            the cause of its first violation
//	lanes.go, tables.go               its parts, beside the figures of package plots
//	collect.go                        what they show of the trace
//	focus.go, world.go                whom they look at, in which world
//	frame.go                          what every page has around its content
//	trace.go                          a trace, line by line
//
// Package plots draws the figures, package axis the run over time, package export the files for other programs, and package words says numbers and times.
//
// Each page is one file that opens from disk and needs no network; plots by gonum/plot are inlined as
// SVG in the colours of the page, light or dark. A page of what was run holds no date or host, and no path but those in its
// commands and links, so the pages of equal results compare equal; an index and the nights have days. What is too much for
// a page is left out with a word that says so.
package reports
