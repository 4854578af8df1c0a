// Package exhaust strikes every operation of a run, by everything that can strike it, one fault a run or two, and certifies
// what came of that.
//
// [Define] runs a plan as it is and lists its [Site]s: the operations, each of a phase, a job and an occurrence. From them
// it makes a [Try] for each site and each fault that can strike there: each effect on the operation itself, and right after
// it a crash of the node that made it, with and without a restart, a pause, a clock an hour ahead, a partition from each server
// that it has a way to and of a worker's heartbeats, a failover of Redis, a restart of nats-server, a kill and a power loss of
// either, and a Redis without memory. A crash before an operation is one after the
// operation of its node before it. Faults that last have one length each, or each length just below and just above every
// duration that the engine's settings name.
//
// A pair is a single fault, and after it every fault at every operation that its run makes from then on, those that only
// the first brings about among them. Of pairs that look the same, one is tried, and none that looks the same as a single
// fault; [Options.Unpruned] tries all. Two faults do not strike one operation. A first fault that takes its process down ([Options.Lists]) has no second, and is counted.
//
// The tries are a campaign; [Definition.Certify] makes a [Certificate] of its records: what was tried, what held, what broke,
// what was broken outside of its promise and by which cell of the promise matrix, and what did not come about. Equal plans
// under equal builds give equal certificates; [Definition.Repeat] makes tries once more, and compares.
//
// A plan of many jobs and long waits has very many single faults. [Options.Reduced] strikes operations of the jobs that the plan
// is about, and of no job; and of single faults that look the same to those it tries one, by the rule for pairs. What is known of
// everything is then what is known of those jobs, and of no job. Faults that look the same may yet find another thing: the rule
// knows no time, so that an outage at the first poll of a wait stands for one at its last, and nothing of what other jobs do.
//
// Operations that only a fault brings about, such as a rollback, are struck by pairs alone. Those of compensations, replays
// and steps, of which a fault cannot say the job, are not struck; a certificate counts them.
//
// Its files, each of which calls only those after it:
//
//	check.go        a certificate against what there is
//	certify.go      records into a certificate
//	table.go        the certificates of several plans, in a table
//	certificate.go  the certificate, as a file
//	define.go       what is to be tried
//	pairs.go        pairs
//	kept.go         the runs that look for them, in a file
//	definition.go   the tries, as plans
//	strikes.go      what can strike a site
//	lengths.go      how long faults last
//	sites.go        the operations of a run
package exhaust
