// Package servers reaches what the scheduler's commands talk to: Redis and NATS, given or brought along by the process,
// and a safety kernel. Its errors say what is wrong with a server and what to do about it.
//
// flags.go says where the servers are. redis.go, nats.go and kernel.go reach one each, clients.go the first two for a
// command; embedded.go and datalock.go bring servers along. reasons.go puts errors into words; logging.go and quiet.go
// are about the log.
package servers
