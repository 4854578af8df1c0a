package model

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// OutputVerdict is what the policy told a process about a result.
type OutputVerdict struct {
	Process  string
	Step     int
	Decision string // "" is no verdict
	Reason   string
	Ptr      string            // of the redacted output, if it exists
	redacted string            // likewise, whether or not it exists
	Asked    *history.Question // the request; nil if not known
}

// On says whether a recorded finding is what the policy told.
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

// Words describe the verdict, its reason, and its output.
func (a *OutputVerdict) Words() string {
	words := a.String() + " (" + a.Reason + ")"
	if a.Asked != nil {
		words += " of " + a.Asked.ResultPtr
	}
	return words
}

// Blocks says whether the verdict keeps a result from being delivered. After a scan, when the output is
// already out, a redaction does, too.
func (a *OutputVerdict) Blocks(scan bool) bool {
	return a.Decision != "" && a.Decision != history.OutputAllow && (a.Decision != history.OutputRedact || a.Ptr == "" || scan)
}

// outputs is what is known of the output policy, except what concerns single jobs.
type outputs struct {
	Kept     map[string]time.Duration // the jobs in cordum:output:scans, and when each was last put off there
	Unlisted time.Duration            // when Redis last refused to tell what is due there, or to leave it to the process that asks, or there were last more than a tick lists
	Soon     map[string]scan          // the jobs whose scans their processes are about to begin
	due      map[string]due           // likewise
	listed   map[string]int           // the step at which a process last asked what is due there
	claimed  map[[2]string]int        // how often a process has put off the scan of a job that it is about to take up
	stored   map[string]*stored
}

// due is when others may take a scan up, in the time of its holder, and the step that has put it off till then.
type due struct {
	at   time.Duration
	step int
}

// stored is what is known of the key of an output.
type stored struct {
	there bool
	gists []string // of its contents so far
}

// outputJob is what is known of a job's output.
type outputJob struct {
	Ptr      string                           // from the record
	sync     []OutputVerdict                  // about its metadata: the last of each process
	Blocking *OutputVerdict                   // the last answer, if it blocks; otherwise nil
	Blocked  bool                             // some answer has blocked
	Scans    []OutputVerdict                  // about its content: all of them
	Found    map[string]history.OutputFinding // the recorded findings, by the part that found them: "sync" or "async"
	scan     *scan                            // the scan that is to follow SUCCEEDED, without output.durable_scans; otherwise nil
	resumed  string                           // the process that has resumed its scan
}

// scan is a scan that a process has yet to ask for.
type scan struct {
	Process string
	node    string
	Since   time.Duration
	away    time.Duration // how long the node had been away before
}

// Late says whether the scan's process could have begun it for longer than within.
func (f *Facts) Late(sc scan, within time.Duration) bool {
	return f.At-sc.Since-(f.Node(sc.node).Away(f.At)-sc.away) > within
}

// OutputCalled notes the outcome of a call to the output policy.
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

// judged notes what the policy has told about a result, or that the redacted output was looked for since.
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

// looksFor makes the verdict name the redacted output if that exists.
func (o *outputs) looksFor(a *OutputVerdict) {
	a.Ptr = ""
	if there := o.stored[a.redacted]; there != nil && there.there {
		a.Ptr = a.redacted
	}
}

// Scanned says whether the policy has answered about the content of the output in the record.
func (o *outputJob) Scanned() bool {
	return slices.ContainsFunc(o.Scans, func(a OutputVerdict) bool { return a.Asked == nil || a.Asked.ResultPtr == o.Ptr })
}

// OutputOperation notes other operations on an output.
func (f *Facts) OutputOperation(s *Step) {
	if s.Phase == "scan_read" && s.Failed {
		f.Outputs.Unlisted = s.At
	}
	if s.Phase == "scan_read" && s.Kind == sim.KindRedis {
		f.scanRead(s)
	}
	if s.About == nil {
		return
	}
	if d := f.Outputs.due[s.About.ID]; d.step == s.Step && s.About.StateAt == s.Step && s.About.State == Succeeded {
		f.scanLeft(s, s.About.ID, d.at-time.Duration(s.About.Updated)*time.Millisecond)
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

// redactedSought notes that a process looks for the redacted output that the policy has named to it.
func (f *Facts) redactedSought(s *Step) {
	me := invariants.Process(s.Node, s.Incarnation)
	for i := range s.About.Out.sync {
		if a := &s.About.Out.sync[i]; a.Process == me && a.redacted == s.Target && !s.Failed {
			f.Outputs.looksFor(a)
			s.About.judged(a, false)
		}
	}
}

// OutputStored notes a change of an output.
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

// FindingStored notes a change of the recorded findings on a job's output.
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

// ScanKept notes a change of the set of open scans.
func (f *Facts) ScanKept(s *Step, c *sim.Change, id string) {
	o := &f.Outputs
	if o.Kept == nil {
		o.Kept, o.due, o.listed, o.claimed = map[string]time.Duration{}, map[string]due{}, map[string]int{}, map[[2]string]int{}
	}
	if id == "" && c.Gone {
		clear(o.Kept)
		return
	}
	if len(o.Kept) > f.Config.BatchSize {
		o.Unlisted = f.At
	}
	was, kept := o.due[id], o.kept(id)
	delete(o.Kept, id)
	if c.Gone {
		return
	}
	ms, _ := strconv.ParseFloat(c.Value, 64)
	is := due{time.Duration(ms) * time.Millisecond, s.Step}
	o.Kept[id], o.due[id] = f.At, is
	if s.Phase == "scan_read" && s.Kind == sim.KindRedis {
		me := invariants.Who(s.Event)
		o.claimed[[2]string{me, id}]++
		if kept && o.listed[me] > was.step { // by its clock it was due
			f.scanLeft(s, id, is.at-was.at)
		}
	}
}

// scanLeft takes in that the step's process has a scan for at least so long.
func (f *Facts) scanLeft(s *Step, id string, lasts time.Duration) {
	for _, check := range f.Hooks.ScanLeft {
		check(s, id, lasts)
	}
}

// scanRead takes in that the step's process asks which scans are due, or takes one up.
func (f *Facts) scanRead(s *Step) {
	o, me := &f.Outputs, invariants.Who(s.Event)
	if s.About == nil {
		if s.Name == "zrangebyscore" && o.listed != nil {
			o.listed[me] = s.Step
		}
		return
	}
	switch claim := [2]string{me, s.About.ID}; {
	case o.claimed[claim] > 0:
		o.claimed[claim]--
	case o.kept(s.About.ID):
		f.scanLeft(s, s.About.ID, 0)
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

// ScansAtOnce counts the open scans. A replica does a limited number of them at once.
func (f *Facts) ScansAtOnce() int {
	n := max(len(f.Outputs.Kept), len(f.Outputs.Soon))
	for _, j := range f.Order {
		if j.Out.scan != nil {
			n++
		}
	}
	return n
}

// OutputWrote notes a write of a job's record.
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

// ScanClosed says whether the job's scan is kept in Redis, if scans are, and is over.
func (f *Facts) ScanClosed(j *Job) bool { return f.Config.Output.DurableScans && !f.Outputs.kept(j.ID) }

// Tells says whether the step's process was told something that blocks the result, with a reason that ends in
// reason.
func (o *outputJob) Tells(s *Step, reason string) bool {
	me := invariants.Process(s.Node, s.Incarnation)
	tells := func(list []OutputVerdict, scan bool) bool {
		return slices.ContainsFunc(list, func(a OutputVerdict) bool {
			return a.Process == me && a.Blocks(scan) && strings.HasSuffix(reason, a.Reason)
		})
	}
	return tells(o.sync, false) || tells(o.Scans, true)
}

// ToldOutput is what the output policy told the step's process about the result's metadata in the present
// handling; asked says whether the handling has called the policy at all.
func (f *Facts) ToldOutput(s *Step) (told OutputVerdict, asked bool) {
	told = s.About.Out.Told(invariants.Process(s.Node, s.Incarnation))
	if told.Step == 0 || told.Step < s.About.handledSince(s.Event) {
		return OutputVerdict{}, false
	}
	return told, true
}

// Told is what a process was last told about the result's metadata.
func (o *outputJob) Told(process string) OutputVerdict { return of(process, o.sync) }

// ToldOfContent is what a process was last told about the output itself.
func (o *outputJob) ToldOfContent(process string) OutputVerdict { return of(process, o.Scans) }

func of(process string, said []OutputVerdict) OutputVerdict {
	for _, a := range slices.Backward(said) {
		if a.Process == process {
			return a
		}
	}
	return OutputVerdict{}
}

// OpenScans lists the scans that are still to come: those that are kept, and those that a running process has
// begun.
func OpenScans(f *Facts) (list []string) {
	for _, j := range f.Order {
		o := &j.Out
		switch {
		case f.Outputs.kept(j.ID):
			list = append(list, "the scan of the output of "+j.ID+" is still to be done")
		case o.scan == nil:
		case f.Node(o.scan.node).Down || f.At > o.scan.Since+2*f.Config.Output.ScanTimeout:
			o.scan = nil // nobody will do it
		default:
			list = append(list, o.scan.Process+" has still to scan the output of "+j.ID)
		}
	}
	return list
}
