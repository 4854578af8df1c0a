package settings

import "time"

// Output are the knobs of the output policy (Scheduler internals, section 2).
type Output struct {
	Enabled      bool          `yaml:"enabled" json:"enabled" doc:"ask the output policy about each result: OUTPUT_POLICY_ENABLED (Scheduler internals)"`
	CheckTimeout time.Duration `yaml:"check_timeout" json:"check_timeout" min:"1ms" max:"1m" doc:"how long the check of a result's metadata may take, while the job's lock is held (Scheduler internals, as safetyTimeout)"`
	ScanTimeout  time.Duration `yaml:"scan_timeout" json:"scan_timeout" min:"10ms" max:"1h" doc:"how long the scan of an output may take (Scheduler internals)"`
	Recheck      bool          `yaml:"recheck" json:"recheck" doc:"a scan that blocks an output reads the job again, under the job's lock, before it downgrades the job (Scheduler internals)"`
	DurableScans bool          `yaml:"durable_scans" json:"durable_scans" doc:"scans that are still to be made are stored in cordum:output:scans, and the replayer's tick takes them up"`
}

// documentedOutput is off, as Scheduler internals has it.
func documentedOutput() Output {
	return Output{CheckTimeout: 2 * time.Second, ScanTimeout: 30 * time.Second, Recheck: true}
}

func hardenedOutput() Output {
	s := documentedOutput()
	s.DurableScans = true
	return s
}
