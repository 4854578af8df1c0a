// Package exhaust strikes every operation of a run with every fault that can strike it, one or two faults in
// a run, and certifies the outcomes.
//
// [Define] runs a plan unchanged and lists its operations. Each is a [Site]: a phase, a job and an
// occurrence. For each site and each fault that can strike there, Define makes a [Try]. The faults are the
// effects on the operation itself and, right after it:
//
//   - a crash of its node, with and without a restart, a pause, or a clock that is an hour ahead
//   - a partition of its node from each server that it uses, or of a worker's heartbeats
//   - a failover of Redis, a restart of nats-server, a kill or a power loss of either
//   - a Redis without memory
//
// A crash before an operation is a crash after the node's previous operation. A fault that lasts has one
// length. With [Options.EveryLength] it has each length just below and just above every duration in the
// engine's settings.
//
// A pair is a single fault, followed by any fault at any later operation of its run, including operations
// that only the first fault brings about. Of pairs that look the same, one is tried. A pair that looks the
// same as a single fault is not tried. [Options.Unpruned] tries all pairs. Two faults do not strike one
// operation. A first fault that takes its process down ([Options.Lists]) gets no second fault, and is
// counted.
//
// The tries form a campaign. [Definition.Certify] makes a [Certificate] of its records. It says what was
// tried, what held, what broke, what was broken outside its promise and by which cell of the promise matrix,
// and which faults had no effect. Equal plans and equal builds give equal certificates. [Definition.Repeat]
// repeats tries, and compares.
//
// A plan with many jobs and long waits has very many single faults. [Options.Reduced] strikes only operations
// of the jobs that the plan is about, and operations of no job. It also prunes single faults that look the
// same, by the rule for pairs. Only those jobs, and what belongs to no job, then count for the rule. Faults
// that look the same may still have different outcomes. The rule ignores time, so an outage at the first poll
// of a wait stands for one at the last. It also ignores what other jobs do.
//
// Operations that only a fault brings about, such as a rollback, are struck in pairs alone. Operations of
// compensations, replays and steps are not struck, since a fault cannot name their jobs. A certificate counts
// them.
//
// Its files, each of which calls only those after it:
//
//	check.go        a certificate, compared with new runs
//	certify.go      from records to a certificate
//	table.go        certificates of several plans, in a table
//	certificate.go  the certificate, as a file
//	define.go       what is to be tried
//	pairs.go        pairs
//	kept.go         the results of the runs that look for pairs, in a file
//	definition.go   the tries, as plans
//	strikes.go      what can strike a site
//	lengths.go      how long faults last
//	sites.go        the operations of a run
package exhaust
