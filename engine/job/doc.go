// Package job holds the vocabulary of the scheduler: the states of a job and the documented moves
// between them, the reason codes, and the packets that submitters, schedulers and workers exchange.
//
// Its files, each of which calls only those after it:
//
//	packet.go                what submitters, schedulers and workers say
//	hash.go, ownlabels.go    what of a request an approval binds, and which labels are the scheduler's own
//	tenant.go                whose a job is
//	transition.go, state.go  the states of a job, and its moves
//	reason.go                reason codes
package job
