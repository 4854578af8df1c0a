// Package engine is a job scheduler on Redis and NATS JetStream, as SPECIFICATION.md describes it.
//
// A [Client] stores a request as PENDING and publishes it to sys.job.submit. Each [Engine] is one
// replica; replicas share durable consumers. An engine handles a request under the job's lock:
//
//	read the state   an unknown state fails closed; DISPATCHED, RUNNING and terminal are a no-op
//	SCHEDULED        counts one attempt
//	pick             least loaded worker; a stale one is picked again, a few times
//	DISPATCHED       before the publish, so that no redelivery dispatches twice
//	publish          a failure rolls back to SCHEDULED, which counts another attempt
//	RUNNING
//
// What cannot be done now is sent back with a delay, as a [RetryableError] that names the phase it
// failed in; after Settings.MaxSchedulingRetries attempts the job is FAILED and gets a DLQ entry.
// A worker's result, from sys.job.result, leads to a terminal state.
//
// What goes wrong on the way is made good by loops of which one replica at a time does a tick (package
// recovery): a reconciler times out jobs that stay DISPATCHED or RUNNING or are past their deadline,
// and a replayer takes up those that wait and have nobody at them. Messages that were handled and not
// acknowledged are known again by their place in the stream ([bus.Guard]). A replica that starts learns
// of the workers from the snapshot that the others leave in Redis. With Settings.WaitReplica, as [settings.Hardened] has
// it, nothing is published or acknowledged before the replicas of Redis have what was written for it. That begins once a
// replica is seen, and does not end while none is left.
//
// With Config.Safety a safety kernel is asked about each job before it is first SCHEDULED, through a
// circuit breaker that the replicas share over Redis (package safety). It may allow the job, bind it to
// workers with certain labels, deny it, put it off, or want an approval: the job then waits in
// APPROVAL_REQUIRED until [Client.Approve] grants what was looked at, by its hash. With Settings.Output.Enabled
// an output policy (Config.Output) is asked about each result, by its metadata before SUCCEEDED and by its
// content afterwards (package output); what it blocks is OUTPUT_QUARANTINED.
//
// A job of a workflow may say how it is undone: once it has succeeded its compensation is on the workflow's
// stack, and when a worker answers FAILED_FATAL for another job of the workflow, what is on the stack is
// submitted as jobs, the last recorded first (package saga).
//
// With Config.Workflows the replicas advance runs, too: steps in their order, with delays that outlive the
// replica that waits for them, and with retries (package workflow). With Settings.Replay.Enabled they
// triage dead letters and replay those that may be, under the same idempotency key and with a fresh
// decision of the safety kernel (package dlq).
//
// What is dispatched a worker executes (package worker).
//
// The alternatives that the specification weighs are settings. [settings.Settings].DispatchOrder can publish first, or
// put the dispatch into an outbox together with DISPATCHED, from where a relay in every replica
// publishes it: a relay repeats what it is not sure of, and what a crashed replica left behind.
// ReadError can go on without a state or by a cached one, and StaleWorker can wait before it picks
// again; PublishDedup gives dispatches a message id. What each of them loses is in its description.
//
// A publish whose answer is lost is ambiguous: after a rollback the job is published again, and the
// stream may hold it twice. Workers and sinks should know a repetition by its idempotency key.
//
// [settings.Hardened], the default, makes that certain. DISPATCHED mints an epoch, and the publish is a
// compare-and-set on worker.*.jobs.<job>.<epoch>: of an epoch the stream stores one dispatch, to
// whichever worker, for as long as it keeps its messages. A publish that failed is not rolled back
// unless the stream refused it; the redelivery, or the replayer, publishes the same dispatch again,
// and what the stream holds already counts as published. A job that ends while it is DISPATCHED, or
// whose worker has died before the publish, takes the dispatch's place with a void, which says what was
// decided, for whoever comes after. One whose dispatch timeout passes before its dispatch was published,
// NATS being away for that long, is scheduled again behind such a void (RetryUnpublished). One that is RUNNING
// on a worker of which nobody hears any more is timed out as if it were DISPATCHED (WatchWorkers). What a
// replica has dispatched since a heartbeat counts for the worker's load (CountDispatches). Every state write is
// a compare-and-set on the record and on the job's lock.
//
// Workers copy the epoch of a dispatch into its result (in the packet or the header Job-Epoch),
// acknowledge a void (header Job-Void) and do nothing, and listen on worker.<id>.jobs.> as well as
// worker.<id>.jobs. A worker whose id is no token of a subject is
// reached through its topic: such a dispatch carries its epoch, but nothing keeps the stream from
// storing it twice, and no void can take its place; it is rolled back as documented, and not resumed.
//
// Every call to Redis or JetStream for a job carries the job and its phase in the context (package
// phase). Time comes from Config.Clock and chance from Config.Random only. The Redis client must have
// ContextTimeoutEnabled set, without which it does not honour Settings.StoreOpTimeout, and MaxRetries -1: go-redis
// repeats what it got no answer to three times by default, a write that was applied among it.
//
// Its files, each of which calls only those after it:
//
//	engine.go                     a replica's parts, and its life
//	streams.go, messages.go       what it consumes
//	warmstart.go                  the workers that the others know
//	loops.go                      what one replica does for all
//	replay.go, timeout.go         a job that waits with nobody at it, and one that is listed as past its time
//	request.go                    a request
//	overdue.go                    what becomes of a job that is past its time
//	resume.go                     a dispatch that another began
//	cancel.go, void.go            a cancellation, and a dispatch that is not to be
//	dispatch.go, pick.go          a dispatch, and whose it is
//	relay.go                      the outbox
//	result.go                     a result
//	outputscan.go, output.go      what the output policy says of it
//	saga.go                       what it leaves to be undone
//	dlqworker.go, dlqreplayer.go  dead letters that are replayed
//	read.go                       a job's state, and what becomes of a job without one
//	end.go                        CANCELLED and TIMEOUT
//	intent.go, publish.go         SCHEDULED, DISPATCHED and RUNNING, and the publish between them
//	tenant.go                     how many of a tenant's jobs are in flight
//	policy.go, approval.go        what the safety kernel says, and a person
//	handling.go                   what a handling of a request knows
//	fail.go                       FAILED, and its dead letter
//	dlqreplayed.go                what a replay leaves in records
//	write.go                      one write of a job's record
//	workflow.go                   runs
//	locks.go                      the locks of jobs and of loops
//	approve.go, client.go         those who submit, cancel and approve
//	config.go                     what a replica is given, and a client
//	budget.go                     how long a job outlasts a cause of retries, and a message has to stay
//	watch.go                      what Redis is seen to do
//	retry.go, backoff.go          errors that bring a message back, and when
package engine
