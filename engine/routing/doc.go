// Package routing chooses who gets a job (seed 003, section 5): the topic leads to pools, the
// job's labels and required capabilities narrow them, and the least loaded worker wins.
//
// Of the documented label hints, preferred_pool and preferred_worker_id are honoured. A choice
// depends on its input alone: equal scores are decided by worker id, or by whoever asks.
package routing
