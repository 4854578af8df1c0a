package phase

// The phases of dead-letter triage and replay (Dead letters).
const (
	DLQLock       Phase = "dlq_lock"        // cordum:dlq:replayer; about no single job, as the read, and growth
	DLQRead       Phase = "dlq_read"        // which entries are due
	DLQEntryRead  Phase = "dlq_entry_read"  // one of them, its job's request, and whether its replay exists already
	CommittedRead Phase = "committed_read"  // whether what it is about has been done after all
	DLQUpdate     Phase = "dlq_update"      // what becomes of the entry; and with it its replay is stored as PENDING
	ReplayPublish Phase = "replay_publish"  // the replay to sys.job.submit
	CommitWrite   Phase = "commit_write"    // a job that had ended succeeds after all
	GrowthRead    Phase = "dlq_growth_read" // how many entries there are, and how many are new
	GrowthWrite   Phase = "dlq_growth_write"
)
