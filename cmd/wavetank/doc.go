// Command wavetank runs a complete job scheduler, the real nats-server and Redis in one
// process, on a virtual clock, and breaks things on purpose.
//
// Its files, each of which calls only those after it:
//
//	main.go                         the commands
//	merge.go                        a campaign of the folders of its shards
//	triage.go                       how a night's findings stand
//	bisect.go, bisectrun.go         the commit from which on a plan breaks its promise, and a run in a commit
//	why.go                          what a violation hangs on
//	run.go, debug.go, print.go      one run, and a debugger in it
//	exhaust.go                      every single fault, and every pair
//	exhaustall.go                   every single fault of every scenario
//	checkcertificate.go             a sample of a certificate again
//	orders.go, ordersworker.go      every order of few pre-emptions
//	power.go                        how many mutants the searches find
//	certify.go                      a certificate, and its pages
//	exhaustworker.go                a process that looks for pairs
//	work.go                         a machine that does runs of others' campaigns
//	fuzz.go                         a campaign of drawn plans
//	compare.go, sweep.go            alternatives side by side, and a sweep
//	sweepshard.go                   a part of its runs
//	sweeprounds.go                  its runs, those that are added where it is open, and their pages
//	sweepnumbers.go                 the numbers of somebody's own system
//	report.go                       pages of what is stored
//	printcampaign.go                what a campaign found
//	pages.go, pageworker.go         pages of plans that are run for them, and a process that makes some
//	page.go                         one of them
//	queue.go                        campaigns of several machines
//	campaign.go, campaignworker.go  a campaign, and a process of it
//	budget.go                       how long it may take
//	folder.go                       where a run is kept
//	verify.go                       runs that should be equal
//	verifyworker.go, difference.go  a process that makes them, and where two part
//	shard.go                        a part of a campaign
//	otherbuild.go, otherresult.go   a plan that another build of wavetank runs, and what came of it
//	command.go                      a program that is run to its end
//	seatworker.go                   what a process does that is asked one thing after the other
//	child.go                        a process that is asked and answers
//	explain.go                      one thing in words
//	deadletters.go, alerts.go       dead letters and alerts in words
//	sections.go, tryit.go           a section of a file, and where a setting shows
//	list.go, claims.go              all things of a kind
//	plan.go                         the plan that a command is given
//	moved.go, version.go            commands that moved, and the build
//	ci.go, terminal.go, temp.go     where it runs: GitHub, a terminal, a folder of its own
package main
