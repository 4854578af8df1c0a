package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// OutputVerdict is what the policy told a process of a result.
type OutputVerdict struct {
	Process  string
	Step     int
	Decision string // "" is no verdict
	Reason   string
	Ptr      string            // of the redacted output, if that is there
	redacted string            // likewise, whether it is there or not
	Asked    *history.Question // what it is about; nil if there is no telling
}

// On says whether a finding that is on record is what the policy told.
func (a *OutputVerdict) On(found *history.OutputFinding) bool {
	return found.Decision == cmp.Or(a.Decision, history.OutputSkipped) && (a.Decision == "" || found.Reason == a.Reason) &&
		(a.Asked == nil || found.Ptr == a.Asked.ResultPtr)
}

func (a *OutputVerdict) String() string {
	if a.Decision == history.OutputRedact && a.Ptr == "" {
		return "REDACT without a redacted output"
	}
	return cmp.Or(a.Decision, "no decision")
}

// Code is the reason code of a job whose result the verdict blocks.
func (a *OutputVerdict) Code() string {
	if a.Decision == history.OutputDeny {
		return history.ReasonOutputDeny
	}
	return history.ReasonQuarantined
}

// Words are what the verdict is, why, and of which output.
func (a *OutputVerdict) Words() string {
	words := a.String() + " (" + a.Reason + ")"
	if a.Asked != nil {
		words += " of " + a.Asked.ResultPtr
	}
	return words
}

// Blocks says whether the verdict keeps a result from being handed out: afterwards, once the output is
// out, so does a redaction.
func (a *OutputVerdict) Blocks(scan bool) bool {
	return a.Decision != "" && a.Decision != history.OutputAllow && (a.Decision != history.OutputRedact || a.Ptr == "" || scan)
}

// outputs is what is known of the output policy besides what is about single jobs.
type outputs struct {
	Kept     map[string]time.Duration // the jobs in cordum:output:scans, and when each was last put off there
	Unlisted time.Duration            // when Redis refused last to tell what is due there, or to leave it to who asks
	Soon     map[string]scan          // the jobs whose scans their processes are about to begin
	stored   map[string]*stored
}

// stored is what is known of the key of an output.
type stored struct {
	there bool
	gists []string // of what it has held
}

// outputJob is what is known of one job's output.
type outputJob struct {
	Ptr      string                           // as the record names it
	sync     []OutputVerdict                  // about its metadata: the last of each process
	Blocking *OutputVerdict                   // the last answer, if it blocks; else nil
	Blocked  bool                             // some answer has blocked
	Scans    []OutputVerdict                  // about its content: all of them
	Found    map[string]history.OutputFinding // what is on record of it, by the part that found it: "sync" or "async"
	scan     *scan                            // that is to follow SUCCEEDED, without output.durable_scans; else nil
	resumed  string                           // the process that has taken its scan up
}

// scan is one that a process has still to ask for.
type scan struct {
	Process string
	node    string
	Since   time.Duration
	away    time.Duration // for how long the node had been away before
}

// Late says whether the scan's process could have begun it for that long.
func (f *Facts) Late(sc scan, within time.Duration) bool {
	return f.At-sc.Since-(f.Node(sc.node).Away(f.At)-sc.away) > within
}

// OutputCalled takes in what came of a call to the output policy.
func (f *Facts) OutputCalled(s *Step) {
	if s.Name != history.CallOutput || s.About == nil || s.Outcome == sim.OutcomePending {
		return
	}
	o := &s.About.Out
	a := OutputVerdict{Process: invariants.Process(s.Node, s.Incarnation), Step: s.Step}
	a.Asked = history.QuestionOf(s.Event)
	if s.Outcome == sim.OutcomeOK {
		if said, err := history.Read[history.Verdict](s.Data); err == nil && said.Output() != "" {
			a.Decision, a.Reason, a.redacted = said.Output(), said.Reason, said.RedactedPtr
			f.Count.Sure(history.CounterChecked, s.About.TopicOf())
		}
	}
	scans := s.Phase == "output_scan"
	f.Outputs.looksFor(&a)
	switch {
	case a.Decision == "" && scans:
		o.scan = nil
	case scans: // there is an answer
		o.Scans = append(o.Scans, a)
		if !a.Blocks(true) {
			o.scan = nil
		}
		if o.resumed == a.Process {
			f.Reach(ScanResumed)
		}
	}
	s.About.judged(&a, scans)
	if !scans {
		o.sync = slices.DeleteFunc(o.sync, func(b OutputVerdict) bool { return b.Process == a.Process })
		o.sync = append(o.sync, a)
	}
}

// judged takes in what the policy has told of a result, or that the redacted output was looked for since.
func (j *Job) judged(a *OutputVerdict, scans bool) {
	if o := &j.Out; a.Decision != "" && (j.State.InFlight() || j.State == Succeeded) {
		blocks := a.Blocks(scans)
		o.Blocked = o.Blocked || blocks
		o.Blocking = nil
		if blocks {
			told := *a
			o.Blocking = &told
		}
	}
}

// looksFor has the verdict name the redacted output if that is there.
func (o *outputs) looksFor(a *OutputVerdict) {
	a.Ptr = ""
	if there := o.stored[a.redacted]; there != nil && there.there {
		a.Ptr = a.redacted
	}
}

// Scanned says whether the policy has answered about the content of the output that the record names.
func (o *outputJob) Scanned() bool {
	return slices.ContainsFunc(o.Scans, func(a OutputVerdict) bool { return a.Asked == nil || a.Asked.ResultPtr == o.Ptr })
}

// OutputOperation takes in what else is done about an output.
func (f *Facts) OutputOperation(s *Step) {
	if s.Phase == "scan_read" && s.Failed {
		f.Outputs.Unlisted = s.At
	}
	if s.About == nil {
		return
	}
	if s.Phase == "output_read" && s.Name != "exists" {
		if sc, soon := f.Outputs.Soon[s.About.ID]; soon && sc.Process == invariants.Process(s.Node, s.Incarnation) {
			for _, check := range f.Hooks.Scanning {
				check(s)
			}
			delete(f.Outputs.Soon, s.About.ID)
		}
	}
	if s.Outcome == sim.OutcomePending {
		return
	}
	switch s.Phase {
	case "output_read":
		if s.Name == "exists" {
			f.redactedSought(s)
			return
		}
		if s.Failed || s.Outcome == sim.OutcomeNil {
			s.About.Out.scan = nil
		}
	case "scan_read":
		s.About.Out.resumed = invariants.Process(s.Node, s.Incarnation)
	case "result_write", "output_write":
		if !s.Failed && !Looks(s) && s.About.StateAt == s.Step && s.About.State == Quarantined {
			f.Count.Sure(history.CounterQuarantined, s.About.TopicOf())
		}
	}
}

// redactedSought takes in that a process looks whether the redacted output is there of which the policy has told it.
func (f *Facts) redactedSought(s *Step) {
	me := invariants.Process(s.Node, s.Incarnation)
	for i := range s.About.Out.sync {
		if a := &s.About.Out.sync[i]; a.Process == me && a.redacted == s.Target && !s.Failed {
			f.Outputs.looksFor(a)
			s.About.judged(a, false)
		}
	}
}

// OutputStored takes in a change of an output.
func (f *Facts) OutputStored(c *sim.Change) {
	o := &f.Outputs
	if o.stored == nil {
		o.stored = map[string]*stored{}
	}
	if o.stored[c.Key] == nil {
		o.stored[c.Key] = &stored{}
	}
	is := o.stored[c.Key]
	if is.there = !c.Gone; c.Gone {
		return
	}
	if gist := sim.Gist([]byte(c.Value)); !slices.Contains(is.gists, gist) {
		is.gists = append(is.gists, gist)
	}
}

// Held says whether a key has held an output of that gist.
func (o *outputs) Held(key, gist string) bool {
	return o.stored[key] != nil && slices.Contains(o.stored[key].gists, gist)
}

// FindingStored takes in a change of what is on record of a job's output.
func (f *Facts) FindingStored(s *Step, c *sim.Change, j *Job) {
	o := &j.Out
	if c.Gone && c.Field == "" {
		o.Found = nil
		return
	}
	was := o.Found[c.Field]
	delete(o.Found, c.Field)
	if found, err := history.Read[history.OutputFinding](c.Value); err == nil && !c.Gone {
		if o.Found == nil {
			o.Found = map[string]history.OutputFinding{}
		}
		o.Found[c.Field] = *found
		was.At = found.At // that it is dated anew is no news
		if found.Decision == history.OutputSkipped && *found != was && !s.Rewinds() {
			f.Count.Sure(history.CounterSkipped, j.TopicOf())
		}
	}
}

// ScanKept takes in a change of the set of open scans.
func (f *Facts) ScanKept(c *sim.Change, id string) {
	if f.Outputs.Kept == nil {
		f.Outputs.Kept = map[string]time.Duration{}
	}
	if id == "" && c.Gone {
		clear(f.Outputs.Kept)
		return
	}
	delete(f.Outputs.Kept, id)
	if !c.Gone {
		f.Outputs.Kept[id] = f.At
	}
}

// kept says whether the job's scan is open in Redis.
func (o *outputs) kept(id string) bool {
	_, is := o.Kept[id]
	return is
}

// crashed forgets the scans that the processes of a node are about to begin.
func (o *outputs) crashed(node string) {
	maps.DeleteFunc(o.Soon, func(_ string, sc scan) bool { return sc.node == node })
}

// ScansAtOnce counts the scans that are open, of which a replica does only so many at once.
func (f *Facts) ScansAtOnce() int {
	n := max(len(f.Outputs.Kept), len(f.Outputs.Soon))
	for _, j := range f.Order {
		if j.Out.scan != nil {
			n++
		}
	}
	return n
}

// OutputWrote takes in a write of a job's record.
func (f *Facts) OutputWrote(s *Step, w *Write) {
	o := &s.About.Out
	switch s.About.State {
	case Succeeded:
		if f.Config.Output.Enabled && o.Ptr != "" && !s.Failed && s.Kind != sim.KindLate && !s.Rewinds() {
			sc := scan{invariants.Process(s.Node, s.Incarnation), s.Node, s.At, f.Node(s.Node).Away(s.At)}
			if f.Outputs.Soon == nil {
				f.Outputs.Soon = map[string]scan{}
			}
			f.Outputs.Soon[s.About.ID] = sc
			if !f.Config.Output.DurableScans {
				o.scan = &sc
			}
		}
		if a := o.Told(invariants.Process(s.Node, s.Incarnation)); a.Decision == history.OutputRedact {
			f.Reach(OutputRedacted)
		}
		if s.Handling != nil && f.Unanswered(s, history.CircuitOutput) {
			f.Reach(OutputFailedOpen)
		}
	case Quarantined:
		o.scan = nil
		if w.From == Succeeded {
			f.Reach(ScanDowngraded)
		}
	}
}

// ScanClosed says whether the job's scan is kept, if any is, and is over.
func (f *Facts) ScanClosed(j *Job) bool { return f.Config.Output.DurableScans && !f.Outputs.kept(j.ID) }

// Tells says whether the step's process was told something that blocks the result, for a reason in which that one ends.
func (o *outputJob) Tells(s *Step, reason string) bool {
	me := invariants.Process(s.Node, s.Incarnation)
	tells := func(list []OutputVerdict, scan bool) bool {
		return slices.ContainsFunc(list, func(a OutputVerdict) bool {
			return a.Process == me && a.Blocks(scan) && strings.HasSuffix(reason, a.Reason)
		})
	}
	return tells(o.sync, false) || tells(o.Scans, true)
}

// ToldOutput is what the output policy told the step's process of the result's metadata in the handling that is under way;
// asked is whether that has called the policy at all.
func (f *Facts) ToldOutput(s *Step) (told OutputVerdict, asked bool) {
	told = s.About.Out.Told(invariants.Process(s.Node, s.Incarnation))
	if told.Step == 0 || told.Step < s.About.handledSince(s.Event) {
		return OutputVerdict{}, false
	}
	return told, true
}

// Told is what a process was told last of the result's metadata.
func (o *outputJob) Told(process string) OutputVerdict { return of(process, o.sync) }

// ToldOfContent is what a process was told last of the output itself.
func (o *outputJob) ToldOfContent(process string) OutputVerdict { return of(process, o.Scans) }

func of(process string, said []OutputVerdict) OutputVerdict {
	for _, a := range slices.Backward(said) {
		if a.Process == process {
			return a
		}
	}
	return OutputVerdict{}
}

// OpenScans says which scans are still to come: those that are kept, and those that a living process has
// begun.
func OpenScans(f *Facts) (list []string) {
	for _, j := range f.Order {
		o := &j.Out
		switch {
		case f.Outputs.kept(j.ID):
			list = append(list, "the scan of the output of "+j.ID+" is still to be done")
		case o.scan == nil:
		case f.Node(o.scan.node).Down || f.At > o.scan.Since+2*f.Config.Output.ScanTimeout:
			o.scan = nil // nobody will
		default:
			list = append(list, o.scan.Process+" has still to scan the output of "+j.ID)
		}
	}
	return list
}
