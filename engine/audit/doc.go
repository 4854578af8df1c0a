// Package audit keeps the trail of decisions that people ask about afterwards: approvals that were
// granted, results that were quarantined, dead-letter entries that were replayed.
package audit
