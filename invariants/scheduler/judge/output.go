package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

var outputDecisions = [...]string{"no decision", "ALLOW", "QUARANTINE", "DENY", "REDACT"}

// verdict is what the policy told a process of a result.
type verdict struct {
	process  string
	step     int
	decision int    // 0 is no verdict
	ptr      string // of the redacted output, if that is there
}

func (a *verdict) String() string {
	if a.decision == history.OutputRedact && a.ptr == "" {
		return "REDACT without a redacted output"
	}
	return outputDecisions[a.decision]
}

// blocks says whether the verdict keeps a result from being handed out: afterwards, once the output is
// out, so does a redaction.
func (a *verdict) blocks(scan bool) bool {
	return a.decision > history.OutputAllow && (a.decision != history.OutputRedact || a.ptr == "" || scan)
}

// outputs is what is known of the output policy besides what is about single jobs.
type outputs struct {
	kept    map[string]bool // the jobs in cordum:output:scans
	stored  map[string]bool // the keys of outputs that there are
	checked int             // answers
	blocked int             // jobs that were quarantined, as their writers were told
}

// outputJob is what is known of one job's output.
type outputJob struct {
	ptr      string    // as the record names it
	sync     []verdict // about its metadata: the last of each process
	blocking verdict   // the last answer, if it blocks
	blocked  bool      // some answer has blocked
	scanned  bool      // there was an answer about its content
	audited  int       // events of its quarantine in the trail
	scan     scan
	resumed  string // the process that has taken its scan up
}

// scan is the scan that is to follow SUCCEEDED, without output.durable_scans; its process is "" for none.
type scan struct {
	process string
	node    string
	since   time.Duration
}

// outputCalled takes in what came of a call to the output policy.
func (f *facts) outputCalled(s *step) {
	if s.Name != history.CallOutput || s.about == nil || s.Outcome == sim.OutcomePending {
		return
	}
	o := &s.about.out
	a := verdict{process: invariants.Process(s.Node, s.Incarnation), step: s.Step}
	if s.Outcome == sim.OutcomeOK {
		var said struct {
			Decision int    `json:"decision"`
			Ptr      string `json:"redacted_ptr"`
		}
		if json.Unmarshal([]byte(s.Data), &said) == nil && said.Decision > 0 && said.Decision < len(outputDecisions) {
			a.decision, a.ptr = said.Decision, said.Ptr
			f.outputs.checked++
		}
	}
	scans := s.Phase == "output_scan"
	if !f.outputs.stored[a.ptr] {
		a.ptr = ""
	}
	switch {
	case a.decision == 0:
		f.reach(outputFailedOpen)
		if scans {
			o.scan = scan{}
		}
	case scans:
		o.scanned = true
		if !a.blocks(true) {
			o.scan = scan{}
		}
		if o.resumed == a.process {
			f.reach(scanResumed)
		}
	}
	if blocks := a.blocks(scans); a.decision != 0 && (s.about.state.inFlight() || s.about.state == succeeded) {
		o.blocked = o.blocked || blocks
		o.blocking = verdict{}
		if blocks {
			o.blocking = a
		}
	}
	if !scans {
		o.sync = slices.DeleteFunc(o.sync, func(b verdict) bool { return b.process == a.process })
		o.sync = append(o.sync, a)
	}
}

// outputOperation takes in what else is done about an output.
func (f *facts) outputOperation(s *step) {
	if s.about == nil || s.Outcome == sim.OutcomePending {
		return
	}
	switch s.Phase {
	case "output_read":
		if s.failed || s.Outcome == sim.OutcomeNil {
			s.about.out.scan = scan{}
		}
	case "scan_read":
		s.about.out.resumed = invariants.Process(s.Node, s.Incarnation)
	case "result_write", "output_write":
		if !s.failed && !looks(s) && s.about.stateAt == s.Step && s.about.state == quarantined {
			f.outputs.blocked++
		}
	}
}

// outputStored takes in a change of an output.
func (f *facts) outputStored(c *sim.Change) {
	if f.outputs.stored == nil {
		f.outputs.stored = map[string]bool{}
	}
	f.outputs.stored[c.Key] = !c.Gone
}

// scanKept takes in a change of the set of open scans.
func (f *facts) scanKept(c *sim.Change) {
	if f.outputs.kept == nil {
		f.outputs.kept = map[string]bool{}
	}
	if c.Field == "" && c.Gone {
		clear(f.outputs.kept)
		return
	}
	delete(f.outputs.kept, c.Field)
	if !c.Gone {
		f.outputs.kept[c.Field] = true
	}
}

// outputAudited takes in an event of the audit trail.
func (f *facts) outputAudited(c *sim.Change) {
	var e struct {
		Kind  string `json:"kind"`
		JobID string `json:"job_id"`
	}
	if c.Gone || !strings.Contains(c.Value, history.AuditQuarantined) || json.Unmarshal([]byte(c.Value), &e) != nil || e.Kind != history.AuditQuarantined {
		return
	}
	if j := f.job(e.JobID); j != nil {
		j.out.audited++
	}
}

// outputWrote takes in a write of a job's record.
func (f *facts) outputWrote(s *step, w *write) {
	o := &s.about.out
	switch s.about.state {
	case succeeded:
		if f.config.Output.Enabled && !f.config.Output.DurableScans && o.ptr != "" && !s.failed && s.Kind != sim.KindLate {
			o.scan = scan{invariants.Process(s.Node, s.Incarnation), s.Node, s.At}
		}
		if a := o.told(invariants.Process(s.Node, s.Incarnation)); a.decision == history.OutputRedact {
			f.reach(outputRedacted)
		}
	case quarantined:
		o.scan = scan{}
		if w.from == succeeded {
			f.reach(scanDowngraded)
		}
	}
}

// told is what a process was told last of the result's metadata.
func (o *outputJob) told(process string) verdict {
	for _, a := range o.sync {
		if a.process == process {
			return a
		}
	}
	return verdict{}
}

// openScans says which scans are still to come: those that are kept, and those that a living process has
// begun.
func openScans(f *facts) (list []string) {
	for _, j := range f.order {
		o := &j.out
		switch {
		case f.outputs.kept[j.id]:
			list = append(list, "the scan of the output of "+j.id+" is still to be done")
		case o.scan.process == "":
		case f.node(o.scan.node).down || f.at > o.scan.since+2*f.config.Output.ScanTimeout:
			o.scan = scan{} // nobody will
		default:
			list = append(list, o.scan.process+" has still to scan the output of "+j.id)
		}
	}
	return list
}
