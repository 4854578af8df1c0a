package faults

import "strings"

// Family is a group of operations for which a fault has the same meaning.
type Family string

// The families.
const (
	FamilyPublish   Family = "publish"     // a dispatch, or what takes its place
	FamilySubmit    Family = "submission"  // a request, an approval, a cancellation, and every other message except dispatches
	FamilyResult    Family = "result"      // a worker's result, or its output
	FamilyWrite     Family = "state write" // the record of a job, a saga or a run
	FamilyRead      Family = "state read"
	FamilyLock      Family = "lock" // the lock of a job, a saga or a run
	FamilyDLQ       Family = "DLQ write"
	FamilyGuard     Family = "guard" // the record of whether a message has been handled
	FamilyAck       Family = "ack or nak"
	FamilyDeliver   Family = "delivery"
	FamilyHeartbeat Family = "heartbeat"     // a heartbeat, or the snapshot of heartbeats that a replica reads at its start
	FamilyTick      Family = "tick"          // what one replica does for all: its lock, its list of what is due, and its notes on the safety kernel
	FamilyKernel    Family = "safety kernel" // a call of the safety kernel
)

// families maps the phases whose names do not say to which family they belong.
var families = map[string]Family{
	"publish": FamilyPublish, "void_publish": FamilyPublish,
	"result_publish": FamilyResult, "output_store": FamilyResult,
	"submit_write": FamilySubmit, "run_create": FamilySubmit, "cancel_notice": FamilySubmit,
	"cancel_keep": FamilySubmit, "approve_read": FamilySubmit, "approve_write": FamilySubmit,
	"dlq_write": FamilyDLQ, "processed_read": FamilyGuard, "inflight_write": FamilyGuard, "processed_write": FamilyGuard, "replica_read": FamilyGuard, "replica_wait": FamilyGuard,
	"safety_check": FamilyKernel, "output_check": FamilyKernel, "output_scan": FamilyKernel,
	"breaker_read": FamilyTick, "breaker_probe": FamilyTick, "breaker_write": FamilyTick,
	"heartbeat": FamilyHeartbeat, "snapshot_read": FamilyHeartbeat, "outbox_claim": FamilyRead, "approval_age": FamilyRead,
	"lock_acquire": FamilyLock, "lock_renew": FamilyLock, "lock_release": FamilyLock,
	"saga_lock": FamilyLock, "saga_unlock": FamilyLock, "run_lock": FamilyLock, "run_renew": FamilyLock, "run_unlock": FamilyLock,
	"outbox_read": FamilyTick, "replay_read": FamilyTick, "scan_read": FamilyTick, "dlq_read": FamilyTick, "runs_read": FamilyTick, "runs_drop": FamilyTick,
	"reconcile_read": FamilyTick, "dlq_growth_read": FamilyTick, "dlq_growth_write": FamilyTick,
	"timer_pop": FamilyTick, "timer_read": FamilyTick, "timer_clean": FamilyTick,
	"snapshot_write": FamilyTick, "snapshot_unlock": FamilyTick,
}

// FamilyOf returns the family of a phase. A phase that is not in families belongs to the family of its last
// word.
func FamilyOf(phase string) Family {
	if f, listed := families[phase]; listed {
		return f
	}
	switch phase[strings.LastIndexByte(phase, '_')+1:] {
	case "publish":
		return FamilySubmit
	case "deliver":
		return FamilyDeliver
	case "ack", "nak", "term", "progress":
		return FamilyAck
	case "read":
		return FamilyRead
	case "lock":
		return FamilyTick
	}
	return FamilyWrite
}
