// Package sim runs a Go service against a real nats-server and a real Redis protocol, on virtual
// time, one step at a time. It knows nothing of job schedulers: see the example for a service of forty lines.
//
// A [World] lives in a testing/synctest bubble: everything in it uses the standard time package,
// which is virtual there, so ten minutes of AckWait cost milliseconds. A [Node] is a process: it
// is given a *redis.Client, a jetstream.JetStream, a core NATS connection and a clockwork.Clock,
// whose every call is an operation ([Op]) that parks at a gate. When every goroutine is parked,
// the stepper chooses one operation and grants it; that is a step, and an [Event] in the trace.
// So one actor runs at a time, concurrency is nothing but the order of choices, and the choices
// are drawn from the seed: the same seed gives the same trace, byte for byte.
//
// What a service must keep to in a world:
//
//   - It waits only at gates, on its clock, on its context, or on channels that are fed by those.
//   - It holds no sync.Mutex across a gate; a channel of capacity one serves.
//   - It consumes with Fetch, and publishes synchronously ([ErrUngated] says which calls do not do).
//   - No two goroutines of one process issue the very same operation at one instant: which of them
//     goes first would be the Go scheduler's choice.
//   - It takes time from its clock and chance from its [Rand], or the trace will differ from run to run.
//   - It gives XAdd its Values in pairs, not as a map: go-redis sends a map's fields in Go's random order of maps, and a
//     stream keeps them so. Those of HSET, HMSET, MSET and MSETNX a world puts in order.
//
// Its files, each of which calls only those after it:
//
//	bubble.go, watchdog.go               a world begins and ends, and one that does not move
//	redis.go                             Redis
//	redis_client.go, redis_late.go       a command, and one that arrives late
//	uses.go                              what operations have in common
//	redis_truth.go, redis_expiry.go      what a command changed, and what time did
//	redis_death.go, redis_failover.go    an older state
//	redis_disk.go                        what of it is on the disk
//	redis_mini.go, redis_real.go         the keys, in miniredis and in a redis-server
//	redis_look.go                        what is under them in a redis-server
//	redis_files.go                       what a redis-server has on its disk
//	redis_stream.go                      its streams
//	redis_time.go, redis_rewrite.go      its commands on the time of the world
//	redis_call.go, redis_command.go      what an operation asks, and what each command is
//	redis_ttl.go                         and does with TTLs
//	redis_process.go, redis_store.go     a redis-server that runs, and what a world's Redis must do
//	redis_pipe.go, redis_socket.go       a connection to either
//	redis_resp.go                        what goes over it
//	nats_powerloss.go, nats_restart.go   NATS goes away, and comes back
//	nats_stream.go, nats_jetstream.go    streams and publishes
//	nats_consumer.go, nats_core.go       pulls and messages
//	nats_api.go                          calls that ask
//	nats.go, nats_observer.go            the server, and what it holds
//	grpc.go, node.go, clock.go           processes: calls to each other, lives and time
//	gate.go                              an operation arrives, waits, and has its effect under the eyes of an Intercept
//	stepper.go                           one operation is granted at a time, and becomes an event
//	queue.go                             which one is next, and when
//	branch.go                            an order that parts from another
//	pct.go, bounded.go                   how it is chosen, by strategies that remember
//	preemption.go, strategy.go           and by others
//	trace.go                             the event's canonical line
//	op.go, world.go, server.go           what an operation is, a world, and a server to it
//	event.go, draw.go                    the words of the trace, and chance
//	failure.go                           why a run proves nothing
package sim
