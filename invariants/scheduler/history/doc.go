// Package history says what an event of a run means in the terms of the scheduler. Judge, story, measures and pages read
// facts here, and decode nothing themselves. It shares no code with the scheduler: it is written from
// engine/SPECIFICATION.md.
//
// [Facts] decodes an event into facts, [AnswerOf] is the one definition of a failed operation, and [Strikes] has the
// kinds of strike: what an injected fault did, as the injector says it, and never what the scheduler did in consequence.
//
// facts.go and answers.go take an event apart. keys.go says what a key or a subject means, by the names of wire.go; nothing
// else in the project does. packets.go decodes what messages and records hold, and request.go, heartbeat.go, runrecord.go
// and kernel.go have more about some of that. strikes.go is the list of kinds.
package history
