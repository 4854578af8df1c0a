// Package exhaust strikes every operation of a run, by everything that can strike it, one fault a run, and certifies what
// came of that.
//
// [Define] runs a plan as it is and lists its [Site]s: the operations, each of a phase, a job and an occurrence. From them
// it makes a [Try] for each site and each fault that can strike there: each effect on the operation itself, and right after
// it a crash of the node that made it, with and without a restart, a pause, a partition from each server that it has a way
// to, a failover of Redis, and a restart and a power loss of nats-server. A crash before an operation is one after the
// operation of its node before it. Faults that last have one length each, or each length just below and just above every
// duration that the engine's settings name.
//
// The tries are a campaign; [Definition.Certify] makes a [Certificate] of its records: what was tried, what held, what broke,
// what was broken outside of its promise and by which cell of the promise matrix, and what did not come about. Equal plans
// under equal builds give equal certificates; [Definition.Again] makes a try once more, and compares.
//
// Operations that only a fault brings about, such as a rollback, are no sites: a second fault would have to strike
// them. Nor are those of compensations, replays and steps, of which a fault cannot say the job; a certificate counts them.
//
// Its files, each of which calls only those after it:
//
//	check.go        a certificate against what there is
//	certify.go      records into a certificate
//	certificate.go  the certificate, as a file
//	definition.go   the tries
//	strikes.go      what can strike a site
//	lengths.go      how long faults last
//	sites.go        the operations of a run
package exhaust
