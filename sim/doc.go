// Package sim runs a Go service against a real nats-server and a real Redis protocol, on virtual
// time, one step at a time. It knows nothing of job schedulers: see the example for a service of forty lines.
//
// A [World] lives in a testing/synctest bubble: everything in it uses the standard time package,
// which is virtual there, so ten minutes of AckWait cost microseconds. A [Node] is a process: it
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
//   - It gives HSet, MSet and the like pairs or a struct, not a map: go-redis sends a map's fields in Go's
//     random order of maps. By the time the gate sees the command, nothing tells that they came from one.
//   - It reads no TTL of a key that a client WATCHes (TTL, GETEX, SET KEEPTTL, EXPIRE with an option, scripts): to
//     miniredis, bringing a TTL up to date is a write, so the EXEC would be refused. A plain EXPIRE is fine.
//
// The files follow an operation on its way. Calls go down this list only:
//
//	bubble, watchdog: a world begins and ends
//	redis, redis_client, redis_late, redis_command, redis_truth, redis_expiry, redis_failover, redis_store: Redis, and its own faults
//	nats_powerloss, nats_restart, nats_core, nats_stream, nats_jetstream, nats_consumer, nats_api, nats, nats_observer: likewise
//	grpc, node, clock: processes, their calls to each other, their lives and their time
//	gate: an operation arrives, waits, and has its effect under the eyes of an Intercept
//	stepper: one operation is granted at a time, and becomes an event
//	queue, strategy: which one is chosen, and when
//	trace: the event's canonical line
//	op, world, server: what an operation is, a world, and a server to it
//	event, draw: the words of the trace, and chance
package sim
