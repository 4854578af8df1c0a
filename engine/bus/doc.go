// Package bus carries jobs over JetStream (Scheduler internals, section 9): the names on the wire, the
// streams, the publish, and the loop that consumes a durable pull consumer.
//
// The loop answers by outcome: nil is acked; an error that names a delay (RetryDelay) comes
// back after it; [Poison] can never be handled and is terminated, but only once it has been
// recorded (DLQ-first termination), unless Consumer.TermFirst says otherwise. Delivery is at least
// once: handlers meet redeliveries, fewer of them with a [Guard].
//
// Its files, each of which calls only those after it:
//
//	consumer.go  what is delivered, and what becomes of it
//	answer.go    an answer, which is sent until it arrives
//	guard.go     messages that were handled before
//	wire.go      subjects, and a publish
//	streams.go   the streams
package bus
