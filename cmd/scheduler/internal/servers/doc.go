// Package servers reaches what the scheduler's commands talk to: Redis and NATS, given or brought along by the process,
// and a safety kernel. Its errors say what is wrong with a server and what to do about it.
//
// Its files, each of which calls only those after it:
//
//	clients.go                Redis and NATS for a command
//	redis.go, nats.go         one of them each
//	flags.go                  where they are, and how they are spoken to
//	kernel.go                 a safety kernel
//	authority.go              whose certificate is trusted
//	embedded.go               servers that the process brings along
//	redisclock.go             TTLs of a Redis among them
//	datalock.go               one process at a time has their data
//	logging.go                the log
//	reasons.go                errors in words
//	quiet.go, queuederror.go  what of an outage is logged
package servers
