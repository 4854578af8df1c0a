package axis

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/reports/lasting"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// How much a picture holds at most, besides its marks and spans.
const (
	saidMax    = 100 // violations whose messages are kept
	changesMax = 16  // of a step
	recordsMax = 500 // fields of the records of followed jobs that a step changes; a failover may change all
	saysMax    = 160 // runes of one text
)

// leaseLeast is how long a lease lasts at least that is drawn. Those of a tick that is over at once are many.
const leaseLeast = 100 * time.Millisecond

// Collector takes the events of a run, in their order, in bounded space.
type Collector struct {
	res      *scenarios.Result
	followed map[string]int // the jobs that the page follows, with their places
	path     map[int]bool   // the steps on the path to the violation that the page explains
	broken   map[int][]string
	fired    map[int]string // what struck at a step
	records  scheduler.Records
	reads    reads
	lanes    []string
	laneOf   map[string]int
	jobs     []string
	jobOf    map[string]int
	marks    marks
	arrows   []Arrow
	messages map[lasting.Message]int // the mark that sent it last: its publish, its nak, or its delivery
	named    []string                // the messages of followed jobs
	nameOf   map[string]int
	lasting  *lasting.Follower
	spans    spans
	end      time.Duration
}

// New collects for a picture of a run of the plan. Of the jobs that the page follows it also keeps what the steps changed.
func New(plan *plans.Plan, res *scenarios.Result, followed []string) *Collector {
	c := &Collector{
		res: res, followed: map[string]int{}, broken: map[int][]string{}, fired: map[int]string{}, records: scheduler.Records{}, reads: reads{},
		laneOf: map[string]int{}, jobOf: map[string]int{}, messages: map[lasting.Message]int{}, nameOf: map[string]int{},
		lasting: lasting.NewFollower(plan.Engine.WorkerTTL), spans: newSpans(), path: map[int]bool{},
	}
	if res.Cause != nil {
		for _, at := range res.Cause.Path {
			c.path[at.Step] = true
		}
	}
	for i, id := range followed {
		c.followed[id] = i
	}
	for i, v := range res.Violations {
		says := v.Invariant
		if i < saidMax {
			says += ": " + words.Cut(v.Message, saysMax)
		}
		if len(c.broken[v.Step]) < changesMax {
			c.broken[v.Step] = append(c.broken[v.Step], says)
		}
	}
	for _, f := range res.Fired {
		c.fired[f.Step] = f.Fault
	}
	return c
}

// Add takes the next event.
func (c *Collector) Add(e *sim.Event) {
	c.end = e.At
	now, changed := c.records.Apply(e)
	describe := func() string { return scheduler.Describe(*e, now, changed) }
	went := c.reads.next(e, describe)
	c.last(e)
	fault := cmp.Or(e.Fault, c.fired[e.Step])
	concerns := c.concerns(e)
	decisive := c.broken[e.Step] != nil || c.path[e.Step]
	striking := decisive || fault != "" || kindOf(e) == Control
	if history.Idles(e) && !striking && !concerns || !c.marks.room(e.Step, e.At, decisive, striking, concerns, kindOf(e)) {
		return
	}
	node := e.Node
	if e.Kind == sim.KindControl && e.Target != "" {
		node = e.Target
	}
	job := -1
	if !history.Beats(e) {
		job = c.job(e.Job)
	}
	m := Mark{Step: e.Step, At: e.At.Microseconds(), Lane: c.lane(cmp.Or(node, "harness")), Kind: kindOf(e), Job: job, Phase: e.Phase,
		Says: words.Cut(describe(), saysMax), Fault: words.Cut(fault, saysMax), Broken: c.broken[e.Step], thins: !striking && !concerns && kindOf(e) == Keeping}
	switch history.AnswerOf(e) {
	case history.Done:
	case history.Waits:
		m.Says += ", and waits"
	default:
		m.Outcome = words.Cut(e.Outcome, saysMax)
	}
	m.Changes, m.More = c.changes(e)
	if c.follows(e.Job) {
		m.Went = words.Cut(went, saysMax)
	}
	m.Turns = c.turns(e)
	c.marks.list = append(c.marks.list, m)
	c.arrow(e)
	c.move(c.marks.thin(c.isLinked()))
}

func (c *Collector) follows(job string) bool {
	_, ok := c.followed[job]
	return ok
}

// concerns says whether the event is about a job that the page follows, or changes its record.
func (c *Collector) concerns(e *sim.Event) bool {
	return c.follows(e.Job) || slices.ContainsFunc(e.Changes, func(change sim.Change) bool { return c.follows(history.RecordOf(change.Key)) })
}

// isLinked says which marks an arrow leads from or to.
func (c *Collector) isLinked() func(i int) bool {
	if c.marks.keeping <= keepingMax {
		return nil
	}
	linked := map[int]bool{}
	for _, a := range c.arrows {
		linked[a.From], linked[a.To] = true, true
	}
	return func(i int) bool { return linked[i] }
}

// move follows marks to where they are now.
func (c *Collector) move(moved []int) {
	if moved == nil {
		return
	}
	for i := range c.arrows {
		c.arrows[i].From, c.arrows[i].To = moved[c.arrows[i].From], moved[c.arrows[i].To]
	}
	for m, at := range c.messages {
		if c.messages[m] = moved[at]; moved[at] < 0 {
			delete(c.messages, m)
		}
	}
}

func kindOf(e *sim.Event) Kind {
	switch {
	case e.Kind == sim.KindControl:
		return Control
	case e.Kind == history.KindEffect:
		return Work
	case e.Job == "" || history.Beats(e):
		return Keeping
	case e.Kind == sim.KindRedis:
		return Redis
	default:
		return Message
	}
}

func (c *Collector) lane(node string) int {
	return indexOf(node, &c.lanes, c.laneOf)
}

func (c *Collector) job(id string) int {
	if id == "" {
		return -1
	}
	return indexOf(id, &c.jobs, c.jobOf)
}

func indexOf(name string, list *[]string, of map[string]int) int {
	i, ok := of[name]
	if !ok {
		i = len(*list)
		of[name] = i
		*list = append(*list, name)
	}
	return i
}

// arrow leads to a delivery from the publish of its message, or from what made it come again.
func (c *Collector) arrow(e *sim.Event) {
	at := len(c.marks.list) - 1
	for _, change := range e.Changes {
		if change.Stream != "" && !change.Gone {
			c.messages[lasting.Message{Subject: change.Subject, Seq: change.Seq}] = at
		}
	}
	if e.Seq == 0 {
		return
	}
	m := lasting.Message{Subject: e.Target, Seq: e.Seq}
	if e.Kind == sim.KindDeliver {
		if from, ok := c.messages[m]; ok {
			c.arrows = append(c.arrows, Arrow{From: from, To: at, Again: e.Delivered > 1})
		}
	}
	if e.Kind == sim.KindDeliver || e.Kind == sim.KindNak && history.Applied(e) {
		c.messages[m] = at
	}
}

// becomes says what a step at its consumer makes of a message.
var becomes = map[sim.Kind]string{sim.KindDeliver: "delivered", sim.KindAck: "acknowledged", sim.KindNak: "handed back", sim.KindTerm: "ended"}

// turns are what the step makes of messages about followed jobs. What was lost on its way makes nothing of them.
func (c *Collector) turns(e *sim.Event) (list []Turn) {
	name := func(subject string, seq uint64) string {
		return words.Cut(subject, saysMax) + " " + strconv.FormatUint(seq, 10)
	}
	for _, change := range e.Changes {
		if change.Stream == "" {
			continue
		}
		of := name(change.Subject, change.Seq)
		if i, known := c.nameOf[of]; change.Gone && known {
			list = append(list, Turn{i, "gone"})
		} else if !change.Gone && c.follows(e.Job) && len(list) < changesMax {
			list = append(list, Turn{indexOf(of, &c.named, c.nameOf), "stored"})
		}
	}
	if i, known := c.nameOf[name(e.Target, e.Seq)]; known && becomes[e.Kind] != "" && history.Applied(e) {
		list = append(list, Turn{i, becomes[e.Kind]})
	}
	return list
}

// last takes down what has lasted until the step.
func (c *Collector) last(e *sim.Event) {
	_, ended := c.lasting.Next(e)
	for _, s := range ended {
		c.span(s)
	}
}

// drawn says how what lasts is drawn. The handling of a message is not: its steps show it.
var drawn = map[lasting.What]What{lasting.Locks: Lock, lasting.Leads: Lease, lasting.Executes: Execution, lasting.Lives: Life}

func (c *Collector) span(s *lasting.Span) {
	what, is := drawn[s.What]
	if !is || what == Lease && s.To-s.From < leaseLeast || !c.spans.room(what, c.follows(s.Job)) {
		return
	}
	c.spans.add(Span{Lane: c.lane(s.Node), From: s.From.Microseconds(), To: s.To.Microseconds(), What: what, Job: c.job(s.Job), Slot: s.Slot, Says: words.Cut(s.Title(), saysMax)}, c.follows(s.Job))
}

// fault draws a fault over its node for as long as it lasts.
func (c *Collector) fault(f *scenarios.FiredFault) {
	until := lasting.UntilOf(f, c.end)
	if until == f.At || f.Node == "" || !c.spans.room(Fault, false) {
		return
	}
	c.spans.add(Span{Lane: c.lane(f.Node), From: f.At.Microseconds(), To: until.Microseconds(), What: Fault, Job: -1, Says: words.Cut(f.Fault, saysMax)}, false)
}

// changes are what the step changed: all, if it is about a followed job, and else the records of such jobs. more is how many
// there is no room for.
func (c *Collector) changes(e *sim.Event) (list []Change, more int) {
	others := 0
	for _, change := range e.Changes {
		record := c.follows(history.RecordOf(change.Key))
		switch {
		case record && len(list)-others == recordsMax:
			more++
			continue
		case record:
		case !c.follows(e.Job) || others == changesMax:
			continue
		default:
			others++
		}
		one := Change{Key: change.Key, Field: change.Field, Value: change.Value, Gone: change.Gone}
		if change.Stream != "" {
			one.Key, one.Field = change.Stream, change.Subject
		}
		one.Key, one.Field, one.Value = words.Cut(one.Key, saysMax), words.Cut(one.Field, saysMax), words.Cut(one.Value, saysMax)
		list = append(list, one)
	}
	return list, more
}

// orNone is a list that the script can go through, if it has nothing, too.
func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Axis is the picture, once the run is over.
func (c *Collector) Axis() *Axis {
	for _, s := range c.lasting.Rest(c.end) {
		c.span(s)
	}
	for i := range c.res.Fired {
		c.fault(&c.res.Fired[i])
	}
	a := &Axis{Jobs: orNone(c.jobs), Colour: []int{}, Messages: c.named, Marks: orNone(c.marks.list), Arrows: orNone(c.arrows), Spans: orNone(c.spans.list()), SpansLeft: c.spans.left, End: c.end.Microseconds(),
		Lost: c.marks.lost, Left: c.marks.left, LeftFrom: c.marks.leftFrom.Microseconds(), Struck: c.marks.struck, Every: c.marks.every}
	for _, id := range c.jobs {
		colour, ok := c.followed[id]
		if !ok {
			colour = -1
		}
		a.Colour = append(a.Colour, colour)
	}
	a.Lanes = orNone(slices.Clone(c.lanes))
	slices.SortFunc(a.Lanes, ByNode)
	moved := make([]int, len(c.lanes))
	for i, name := range c.lanes {
		moved[i] = slices.Index(a.Lanes, name)
	}
	for i := range a.Marks {
		a.Marks[i].Lane = moved[a.Marks[i].Lane]
	}
	for i := range a.Spans {
		a.Spans[i].Lane = moved[a.Spans[i].Lane]
	}
	if cause := c.res.Cause; cause != nil {
		for _, at := range cause.Path {
			p := Point{Step: at.Step, At: at.At.Microseconds()}
			if p.Step == 0 {
				p.Says = words.Cut(at.Says, saysMax)
			}
			a.Path = append(a.Path, p)
		}
	}
	return a
}
