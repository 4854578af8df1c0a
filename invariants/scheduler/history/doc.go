// Package history says what an event of a run means in the scheduler's terms. Judge, story, measures and
// pages read its facts, and decode nothing themselves. It shares no code with the scheduler: it is written
// from engine/SPECIFICATION.md.
//
// [Facts] decodes an event into facts. [AnswerOf] is the only definition of a failed operation. [Strikes] has
// the kinds of strike: what an injected fault did according to the injector, never what the scheduler did in
// consequence.
//
// Its files, each of which calls only those after it:
//
//	facts.go                  an event as facts
//	answers.go                the outcome of an operation
//	keys.go                   what a key or a subject means
//	question.go               the requests to a policy
//	request.go, heartbeat.go  jobs and workers
//	runrecord.go, kernel.go   runs, and the safety kernel's answers
//	packets.go                the content of messages and records
//	wire.go                   the names of keys and subjects
//	counters.go               the names of counters
//	strikes.go                the kinds of strike
//	steps.go                  steps that mean little
package history
