// Package saga undoes work: a job of a workflow that succeeds may leave a compensation on its workflow's stack, and
// when a job of the workflow fails for good the compensations are submitted as jobs, the last recorded first
// (Scheduler internals, section 4). That is the order of their submission: nothing waits for one to be done before
// the next is submitted, so that two of one workflow may be done at once, or the other way round.
// A workflow is its tenant's: [Name] keeps apart the sagas of two tenants that call theirs the same.
//
// In the documented design a compensation is popped, then submitted: what fails or crashes between the
// two loses it. With Manager.Peek it stays on the stack until the stream has confirmed it, and its job's id
// follows from its idempotency key, so that a repetition is the same job. With Manager.Durable a rollback that
// is to come is noted in a sorted set, in the MULTI of what calls for it, and stays there until the
// stack has been seen empty.
package saga
