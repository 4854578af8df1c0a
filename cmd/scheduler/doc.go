// Command scheduler runs the job scheduler in real time, over real Redis and NATS, and what belongs to it: workers, a
// safety kernel, clients and the audit of what the servers hold.
//
// Package internal/servers reaches Redis, NATS and the safety kernel, internal/audit judges what they hold, and engine and
// engine/worker do the work.
//
// Its files, each of which calls only those after it:
//
//	main.go                            the commands
//	serve.go                           a scheduler
//	replica.go                         whether Redis has replicas to wait for
//	safetyflags.go                     its safety kernel
//	kernelprobe.go, health.go          how the kernel does, and how the scheduler does
//	worker.go                          a worker
//	claim.go, execute.go               one worker a name, and what it executes
//	putout.go, ledger.go, load.go      outputs of executions, a note of each, and how busy the machine is
//	kernel.go                          a safety kernel
//	name.go                            the name that a process goes by
//	audit.go                           what is wrong with what the servers hold
//	monitor.go                         rules for Prometheus, and a dashboard
//	enginesettings.go                  settings of a scheduler
//	submit.go                          jobs
//	existing.go                        which of them were there before
//	cancel.go                          an end to one
//	await.go                           jobs that end
//	workflow.go                        workflow runs
//	workflowstart.go, workflowfile.go  a new one
//	printrun.go, workflowflags.go      what the commands for runs share
//	waiting.go                         what a job waits for
//	show.go, printjob.go               a job
//	dlq.go                             dead letters
//	dlqdecide.go, approve.go           replay, approval and denial
//	dlqflags.go                        what the commands for dead letters share
//	outside.go                         the ledger of the system that jobs act on
package main
