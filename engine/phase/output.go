package phase

// The phases of the output policy (Scheduler internals, section 2).
const (
	OutputCheck    Phase = "output_check"    // the policy is asked about a result's metadata, under the job's lock
	OutputRead     Phase = "output_read"     // the output is read, to be scanned; or the redacted one is looked for
	OutputScan     Phase = "output_scan"     // the policy is asked about the output itself
	QuarantineRead Phase = "quarantine_read" // the record of a job whose output is blocked, again, under its lock
	OutputWrite    Phase = "output_write"    // from SUCCEEDED to OUTPUT_QUARANTINED
	OutputRecord   Phase = "output_record"   // output:<jobID>, where no state write goes with it
	ScanRead       Phase = "scan_read"       // which scans are overdue (about no single job), and the record of each
)
