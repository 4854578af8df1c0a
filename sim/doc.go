// Package sim runs a Go service against a real nats-server and a real Redis protocol, on virtual
// time, one step at a time.
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
//
// The package knows nothing of job schedulers: see the example for a service of forty lines.
package sim
