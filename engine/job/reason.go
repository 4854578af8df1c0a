package job

// Reason codes of retry events, records and DLQ entries. They are the specification's own: Scheduler internals,
// section 5, unless stated otherwise.
const (
	ReasonNoPoolMapping        = "no_pool_mapping"        // no pool is configured for the job's topic
	ReasonNoWorkers            = "no_workers"             // no worker in the pool
	ReasonPoolOverloaded       = "pool_overloaded"        // every worker of the pool is past a load threshold
	ReasonDispatchFailed       = "dispatch_failed"        // anything else that kept a job from being done
	ReasonStaleWorker          = "stale_worker"           // every pick met a worker past its TTL (Stale workers, next step 2)
	ReasonMaxSchedulingRetries = "max_scheduling_retries" // the retry ceiling (Dead letters)
	ReasonTimeout              = "timeout"                // past a timeout or its deadline (Dead letters, transient infrastructure)
	ReasonCancelled            = "cancelled"              // cancelled by its user (Scheduler internals, section 1)
	ReasonParseError           = "parse_error"            // the packet is not JSON (Dead letters, poison payload)
	ReasonTenantLimit          = "tenant_limit"           // the tenant has as many jobs in flight as it may have
	ReasonSafetyDenied         = "safety_denied"          // the safety kernel denied the job
	ReasonSagaUnmarshalFailed  = "saga_unmarshal_failed"  // a compensation that cannot be read (Scheduler internals, section 4)
	ReasonOutputQuarantined    = "output_quarantined"     // the output policy blocked the result, or asks for a redaction that there is not (Scheduler internals, section 2)
	ReasonOutputDenied         = "output_denied"          // the output policy denied the result (Scheduler internals, section 2)
	ReasonSchemaInvalid        = "schema_invalid"         // the packet lacks what a packet must have (Dead letters, poison payload)
)
