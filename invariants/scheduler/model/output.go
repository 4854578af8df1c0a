package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// verdict is what the policy told a process of a result.
type verdict struct {
	Process  string
	Step     int
	Decision string // "" is no verdict
	Ptr      string // of the redacted output, if that is there
}

func (a *verdict) String() string {
	if a.Decision == history.OutputRedact && a.Ptr == "" {
		return "REDACT without a redacted output"
	}
	return cmp.Or(a.Decision, "no decision")
}

// Code is the reason code of a job whose result the verdict blocks.
func (a *verdict) Code() string {
	if a.Decision == history.OutputDeny {
		return history.ReasonOutputDeny
	}
	return history.ReasonQuarantined
}

// Blocks says whether the verdict keeps a result from being handed out: afterwards, once the output is
// out, so does a redaction.
func (a *verdict) Blocks(scan bool) bool {
	return a.Decision != "" && a.Decision != history.OutputAllow && (a.Decision != history.OutputRedact || a.Ptr == "" || scan)
}

// outputs is what is known of the output policy besides what is about single jobs.
type outputs struct {
	kept    map[string]bool // the jobs in cordum:output:scans
	stored  map[string]bool // the keys of outputs that there are
	Checked int             // answers
	Blocked int             // jobs that were quarantined, as their writers were told
}

// outputJob is what is known of one job's output.
type outputJob struct {
	Ptr      string    // as the record names it
	sync     []verdict // about its metadata: the last of each process
	content  []verdict // about its content: likewise
	Blocking *verdict  // the last answer, if it blocks; else nil
	Blocked  bool      // some answer has blocked
	Scanned  bool      // there was an answer about its content
	scan     *scan     // that is to follow SUCCEEDED, without output.durable_scans; else nil
	resumed  string    // the process that has taken its scan up
}

// scan is one that a process has still to ask for.
type scan struct {
	process string
	node    string
	since   time.Duration
}

// OutputCalled takes in what came of a call to the output policy.
func (f *Facts) OutputCalled(s *Step) {
	if s.Name != history.CallOutput || s.About == nil || s.Outcome == sim.OutcomePending {
		return
	}
	o := &s.About.Out
	a := verdict{Process: invariants.Process(s.Node, s.Incarnation), Step: s.Step}
	if s.Outcome == sim.OutcomeOK {
		if v, err := history.Read[history.Verdict](s.Data); err == nil && v.Output() != "" {
			a.Decision, a.Ptr = v.Output(), v.RedactedPtr
			f.Outputs.Checked++
		}
	}
	scans := s.Phase == "output_scan"
	if !f.Outputs.stored[a.Ptr] {
		a.Ptr = ""
	}
	switch {
	case a.Decision == "":
		f.Reach(OutputFailedOpen)
		if scans {
			o.scan = nil
		}
	case scans:
		o.Scanned = true
		if !a.Blocks(true) {
			o.scan = nil
		}
		if o.resumed == a.Process {
			f.Reach(ScanResumed)
		}
	}
	if blocks := a.Blocks(scans); a.Decision != "" && (s.About.State.InFlight() || s.About.State == Succeeded) {
		o.Blocked = o.Blocked || blocks
		o.Blocking = nil
		if blocks {
			o.Blocking = &a
		}
	}
	said := &o.sync
	if scans {
		said = &o.content
	}
	*said = slices.DeleteFunc(*said, func(b verdict) bool { return b.Process == a.Process })
	*said = append(*said, a)
}

// OutputOperation takes in what else is done about an output.
func (f *Facts) OutputOperation(s *Step) {
	if s.About == nil || s.Outcome == sim.OutcomePending {
		return
	}
	switch s.Phase {
	case "output_read":
		if s.Failed || s.Outcome == sim.OutcomeNil {
			s.About.Out.scan = nil
		}
	case "scan_read":
		s.About.Out.resumed = invariants.Process(s.Node, s.Incarnation)
	case "result_write", "output_write":
		if !s.Failed && !Looks(s) && s.About.StateAt == s.Step && s.About.State == Quarantined {
			f.Outputs.Blocked++
		}
	}
}

// OutputStored takes in a change of an output.
func (f *Facts) OutputStored(c *sim.Change) {
	if f.Outputs.stored == nil {
		f.Outputs.stored = map[string]bool{}
	}
	f.Outputs.stored[c.Key] = !c.Gone
}

// ScanKept takes in a change of the set of open scans.
func (f *Facts) ScanKept(c *sim.Change, id string) {
	if f.Outputs.kept == nil {
		f.Outputs.kept = map[string]bool{}
	}
	if id == "" && c.Gone {
		clear(f.Outputs.kept)
		return
	}
	delete(f.Outputs.kept, id)
	if !c.Gone {
		f.Outputs.kept[id] = true
	}
}

// OutputWrote takes in a write of a job's record.
func (f *Facts) OutputWrote(s *Step, w *Write) {
	o := &s.About.Out
	switch s.About.State {
	case Succeeded:
		if f.Config.Output.Enabled && !f.Config.Output.DurableScans && o.Ptr != "" && !s.Failed && s.Kind != sim.KindLate {
			o.scan = &scan{invariants.Process(s.Node, s.Incarnation), s.Node, s.At}
		}
		if a := o.Told(invariants.Process(s.Node, s.Incarnation)); a.Decision == history.OutputRedact {
			f.Reach(OutputRedacted)
		}
	case Quarantined:
		o.scan = nil
		if w.From == Succeeded {
			f.Reach(ScanDowngraded)
		}
	}
}

// ToldOutput is what the output policy told the step's process of the result's metadata in the handling that is under way;
// asked is whether that has called the policy at all.
func (f *Facts) ToldOutput(s *Step) (told verdict, asked bool) {
	told = s.About.Out.Told(invariants.Process(s.Node, s.Incarnation))
	if told.Step == 0 || told.Step < s.About.handledSince(s.Event) {
		return verdict{}, false
	}
	return told, true
}

// Told is what a process was told last of the result's metadata.
func (o *outputJob) Told(process string) verdict { return of(process, o.sync) }

// ToldOfContent is what a process was told last of the output itself.
func (o *outputJob) ToldOfContent(process string) verdict { return of(process, o.content) }

func of(process string, said []verdict) verdict {
	for _, a := range said {
		if a.Process == process {
			return a
		}
	}
	return verdict{}
}

// OpenScans says which scans are still to come: those that are kept, and those that a living process has
// begun.
func OpenScans(f *Facts) (list []string) {
	for _, j := range f.Order {
		o := &j.Out
		switch {
		case f.Outputs.kept[j.ID]:
			list = append(list, "the scan of the output of "+j.ID+" is still to be done")
		case o.scan == nil:
		case f.Node(o.scan.node).Down || f.At > o.scan.since+2*f.Config.Output.ScanTimeout:
			o.scan = nil // nobody will
		default:
			list = append(list, o.scan.process+" has still to scan the output of "+j.ID)
		}
	}
	return list
}
