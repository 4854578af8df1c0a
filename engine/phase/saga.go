package phase

// The phases of sagas (Scheduler internals, section 4).
const (
	SagaRecord  Phase = "saga_record"  // a compensation is pushed onto saga:<workflow_id>:stack, on its own
	SagaLock    Phase = "saga_lock"    // saga:<workflow_id>:lock; of a rollback, only the publish is about a job
	SagaRead    Phase = "saga_read"    // with peek: the compensation on top of the stack
	SagaPop     Phase = "saga_pop"     // it leaves the stack: to be submitted, or with peek, once that is done
	SagaPublish Phase = "saga_publish" // to sys.job.submit; about the job that is undone
	SagaClose   Phase = "saga_close"   // with durable_rollback: there is nothing left to roll back
	SagaUnlock  Phase = "saga_unlock"  // owner-checked delete
)
