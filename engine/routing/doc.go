// Package routing chooses who gets a job (Scheduler internals, section 5): the topic leads to pools, the
// job's labels and required capabilities narrow them, and the least loaded worker wins.
//
// preferred_pool narrows the pools; placement.*, constraint.* and node.* bind whoever is picked; and
// preferred_worker_id takes one worker before those with less to do, if it satisfies the others. A choice
// depends on its input alone: equal scores are decided by worker id, or by whoever asks.
//
// Its files, each of which calls only those after it:
//
//	least_loaded.go  the choice
//	errors.go        why there is none
//	hints.go         what a job's labels ask for
//	config.go        topics and pools
package routing
