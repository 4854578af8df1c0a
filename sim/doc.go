// Package sim runs a Go service against a real nats-server and a real Redis protocol, on virtual time, one
// step at a time. It knows nothing of job schedulers: the example is a service of forty lines.
//
// A [World] lives in a testing/synctest bubble. Everything in it uses the standard time package, whose time
// is virtual there, so ten minutes of AckWait cost milliseconds. A [Node] runs processes. A process has a
// *redis.Client, a jetstream.JetStream, a core NATS connection and a clockwork.Clock. Each of their calls is
// an operation ([Op]) that parks at a gate. When every goroutine is parked, the stepper chooses one operation
// and grants it. That is a step, and an [Event] of the trace. So one actor runs at a time, and concurrency is
// the order of choices alone. The choices are drawn from the seed: the same seed gives the same trace, byte
// for byte.
//
// A service in a world must obey these rules:
//
//   - It waits only at gates, on its clock, on its context, or on channels that are fed by those.
//   - It holds no sync.Mutex across a gate. A channel of capacity one will do.
//   - It consumes with Fetch, and publishes synchronously. The calls that do not work return [ErrUngated].
//   - No two goroutines of one process issue the very same operation at one instant: the Go scheduler would
//     choose which of them goes first.
//   - It takes time from its clock and chance from its [Rand]. Otherwise the trace differs from run to run.
//   - It gives XAdd its Values in pairs, not as a map: go-redis sends a map's fields in Go's random order of maps,
//     and a stream keeps that order. A world sorts the fields of HSET, HMSET, MSET and MSETNX.
//
// Its files, each of which calls only those after it:
//
//	bubble.go, watchdog.go               the beginning and end of a world, and one that stalls
//	redis.go                             Redis
//	redis_client.go, redis_late.go       a command, and one that arrives late
//	uses.go                              what operations have in common
//	redis_truth.go, redis_expiry.go      what a command changed, and what time did
//	redis_death.go, redis_failover.go    Redis goes back to an older state
//	redis_disk.go                        how much of its state is on the disk
//	redis_mini.go, redis_real.go         the keys, in miniredis and in a redis-server
//	redis_look.go                        the values of the keys in a redis-server
//	redis_files.go                       the files of a redis-server
//	redis_stream.go                      the streams of a redis-server
//	redis_time.go, redis_rewrite.go      its commands, rewritten for the time of the world
//	redis_call.go, redis_command.go      what an operation asks, and what each command is
//	redis_ttl.go                         what a command does with TTLs
//	redis_process.go, redis_store.go     a redis-server that runs, and what a world's Redis must do
//	redis_pipe.go, redis_socket.go       connections to miniredis and to a redis-server
//	redis_resp.go                        the protocol of those connections
//	nats_powerloss.go, nats_restart.go   NATS goes away, and comes back
//	nats_stream.go, nats_jetstream.go    streams and publishes
//	nats_consumer.go, nats_core.go       pulls and messages
//	nats_api.go                          management calls
//	nats.go, nats_observer.go            the server, and what it holds
//	grpc.go, node.go, clock.go           processes: calls to each other, lives and time
//	gate.go                              an operation arrives, waits, and has its effect under the eyes of an Intercept
//	stepper.go                           one operation is granted at a time, and becomes an event
//	queue.go                             which operation is next, and when
//	branch.go                            a strategy that parts from another
//	pct.go, bounded.go                   strategies with a state
//	preemption.go, strategy.go           pre-emptions, and strategies without a state
//	trace.go                             the event's canonical line
//	op.go, world.go, server.go           an operation, a world, and what a server is to a world
//	event.go, draw.go                    the words of the trace, and chance
//	failure.go                           why a run proves nothing
package sim
