package axis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// How much a picture holds at most: a page of it stays below a megabyte.
const (
	marksMax   = 3000 // of the jobs that the page follows, and of the harness
	othersMax  = 2000 // of other jobs
	keepingMax = 700  // of no job
	spansMax   = 1500
	saidMax    = 100 // violations whose messages are kept
	changesMax = 16  // of a step
	saysMax    = 160 // runes of one text
)

// heartbeat is the phase of a worker's heartbeat, whose tag is the worker and no job.
const heartbeat = "heartbeat"

// Collector takes the events of a run, in their order, in bounded space.
type Collector struct {
	res      *scenarios.Result
	followed map[string]int // the jobs that the page follows, with their places
	broken   map[int][]string
	records  map[string]scheduler.Record
	lanes    []string
	laneOf   map[string]int
	jobs     []string
	jobOf    map[string]int
	marks    []Mark
	count    map[Kind]int // of the marks that are bounded by kind
	arrows   []Arrow
	messages map[message]int // the mark that sent it last: its publish, its nak, or its delivery
	named    []string        // the messages of followed jobs
	nameOf   map[string]int
	spans    *spans
	end      time.Duration
	left     int
}

// message is a message of a stream.
type message struct {
	subject string
	seq     uint64
}

// New collects for a picture of a run. Of the jobs that the page follows it also keeps what the steps changed.
func New(res *scenarios.Result, followed []string) *Collector {
	c := &Collector{
		res: res, followed: map[string]int{}, broken: map[int][]string{}, records: map[string]scheduler.Record{},
		laneOf: map[string]int{}, jobOf: map[string]int{}, count: map[Kind]int{}, messages: map[message]int{}, nameOf: map[string]int{}, spans: newSpans(),
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
	return c
}

// Add takes the next event.
func (c *Collector) Add(e *sim.Event) {
	c.end = e.At
	var now scheduler.Record
	changed := false
	if c.follows(e) || len(c.records) < othersMax {
		now = c.records[e.Job]
		if changed = now.Apply(e); changed {
			c.records[e.Job] = now
		}
	}
	if !c.takes(e) {
		return
	}
	node := e.Node
	if e.Kind == sim.KindControl && e.Target != "" {
		node = e.Target
	}
	job := -1
	if e.Phase != heartbeat {
		job = c.job(e.Job)
	}
	m := Mark{Step: e.Step, At: e.At.Microseconds(), Lane: c.lane(cmp.Or(node, "harness")), Kind: kindOf(e), Job: job, Phase: e.Phase,
		Says: words.Cut(scheduler.Describe(*e, now, changed), saysMax), Fault: words.Cut(e.Fault, saysMax), Broken: c.broken[e.Step]}
	switch history.AnswerOf(e) {
	case history.Done:
	case history.Waits:
		m.Says += ", and waits"
	default:
		m.Outcome = words.Cut(e.Outcome, saysMax)
	}
	if c.follows(e) {
		m.Changes = changesOf(e)
	}
	m.Turns = c.turns(e)
	c.marks = append(c.marks, m)
	c.arrow(e)
	c.locks(e, job)
	c.work(e, job)
	if e.Kind == sim.KindControl && e.Name == "crash" {
		c.spans.leave(m.Lane, e.At)
	}
}

func (c *Collector) follows(e *sim.Event) bool {
	_, ok := c.followed[e.Job]
	return ok
}

// takes says whether the event becomes a mark, while there is room for one of its kind.
func (c *Collector) takes(e *sim.Event) bool {
	waits := e.Kind == sim.KindTimer || e.Kind == sim.KindFetch || e.Kind == sim.KindFetchEnd
	if waits && c.broken[e.Step] == nil && e.Fault == "" {
		return false
	}
	bound, most := kindOf(e), keepingMax
	switch {
	case c.broken[e.Step] != nil || e.Fault != "" || bound == Control || c.follows(e):
		bound, most = "", marksMax
	case bound != Keeping:
		bound, most = Message, othersMax
	}
	if c.count[bound] >= most {
		c.left++
		return false
	}
	c.count[bound]++
	return true
}

func kindOf(e *sim.Event) Kind {
	switch {
	case e.Kind == sim.KindControl:
		return Control
	case e.Kind == history.KindEffect:
		return Work
	case e.Job == "" || e.Phase == heartbeat:
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
	at := len(c.marks) - 1
	for _, change := range e.Changes {
		if change.Stream != "" && !change.Gone {
			c.messages[message{change.Subject, change.Seq}] = at
		}
	}
	if e.Seq == 0 {
		return
	}
	m := message{e.Target, e.Seq}
	if e.Kind == sim.KindDeliver {
		if from, ok := c.messages[m]; ok {
			c.arrows = append(c.arrows, Arrow{From: from, To: at, Again: e.Delivered > 1})
		}
	}
	if e.Kind == sim.KindDeliver || e.Kind == sim.KindNak {
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
		if change.Stream == "" || len(list) == changesMax {
			continue
		}
		of := name(change.Subject, change.Seq)
		if i, known := c.nameOf[of]; change.Gone && known {
			list = append(list, Turn{i, "gone"})
		} else if !change.Gone && c.follows(e) {
			list = append(list, Turn{indexOf(of, &c.named, c.nameOf), "stored"})
		}
	}
	if i, known := c.nameOf[name(e.Target, e.Seq)]; known && becomes[e.Kind] != "" && history.Applied(e) {
		list = append(list, Turn{i, becomes[e.Kind]})
	}
	return list
}

// locks takes the job locks down that a step takes or gives back. The value of a lock is its holder's name and a token.
func (c *Collector) locks(e *sim.Event, job int) {
	for _, change := range e.Changes {
		if !strings.HasPrefix(change.Key, history.LockPrefix) {
			continue
		}
		if change.Gone {
			c.spans.end(change.Key, e.At)
			continue
		}
		holder, _, _ := strings.Cut(change.Value, ":")
		if i, held := c.spans.open[change.Key]; held && c.lanes[c.spans.list[i].Lane] == holder {
			c.spans.ends[change.Key] = change.Expires // renewed
			continue
		}
		c.spans.begin(change.Key, e.At, change.Expires, Span{Lane: c.lane(holder), What: Lock, Job: job, Says: "lock of " + strings.TrimPrefix(change.Key, history.LockPrefix)})
	}
}

// work takes the executions down that a step begins or ends.
func (c *Collector) work(e *sim.Event, job int) {
	if e.Kind != history.KindEffect {
		return
	}
	lane := c.lane(e.Node)
	key := e.Node + " " + e.Job
	if e.Name == "begin" {
		c.spans.begin(key, e.At, 0, Span{Lane: lane, What: Execution, Job: job, Says: "executes " + e.Job})
	} else {
		c.spans.end(key, e.At)
	}
}

func changesOf(e *sim.Event) (list []Change) {
	for _, change := range e.Changes {
		if len(list) == changesMax {
			break
		}
		one := Change{Key: change.Key, Field: change.Field, Value: change.Value, Gone: change.Gone}
		if change.Stream != "" {
			one.Key, one.Field = change.Stream, change.Subject
		}
		one.Key, one.Field, one.Value = words.Cut(one.Key, saysMax), words.Cut(one.Field, saysMax), words.Cut(one.Value, saysMax)
		list = append(list, one)
	}
	return list
}

// Axis is the picture, once the run is over.
func (c *Collector) Axis() *Axis {
	for _, f := range c.res.Fired {
		if f.Until > f.At && f.Node != "" && len(c.spans.list) < spansMax {
			c.spans.list = append(c.spans.list, Span{Lane: c.lane(f.Node), From: f.At.Microseconds(), To: f.Until.Microseconds(), What: Fault, Job: -1, Says: words.Cut(f.Fault, saysMax)})
		}
	}
	a := &Axis{Jobs: c.jobs, Messages: c.named, Marks: c.marks, Arrows: c.arrows, Spans: c.spans.all(c.end), End: c.end.Microseconds(), Left: c.left}
	for _, id := range c.jobs {
		colour, ok := c.followed[id]
		if !ok {
			colour = -1
		}
		a.Colour = append(a.Colour, colour)
	}
	a.Lanes = slices.Clone(c.lanes)
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
			a.Path = append(a.Path, at.Step)
		}
	}
	return a
}
