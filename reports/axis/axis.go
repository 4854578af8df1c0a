package axis

// Axis is what the script of a page draws. Times are in microseconds of virtual time, since the world began.
type Axis struct {
	Lanes    []string `json:"lanes"`              // the nodes, along a job's way, and last the servers that something befell
	Jobs     []string `json:"jobs"`               // those of the marks, in the order of their first steps
	Colour   []int    `json:"colour"`             // of each job: its place among those that the page follows, or -1
	Marks    []Mark   `json:"marks"`              // in the order of steps
	Arrows   []Arrow  `json:"arrows"`             // of messages
	Spans    []Span   `json:"spans"`              // what lasts, in the order of their beginnings
	Messages []string `json:"messages,omitempty"` // of the streams, about the jobs that the page follows: subject and sequence number
	Path     []Point  `json:"path,omitempty"`     // of the sentences that tell how it came to the first violation
	End      int64    `json:"end"`
	Lost     int      `json:"lost,omitempty"` // the first step of a followed job that was left out, since there were too many; 0: none was
	Left     int      `json:"-"`              // steps that were left out
	Struck   int      `json:"-"`              // the first step that was left out of those that were struck; 0: none was
	LeftFrom int64    `json:"-"`              // from when on some of other jobs were; 0: none was
	Every    int      `json:"-"`              // of the steps of no job one in so many is there; 0: all are

	SpansLeft map[What]int `json:"-"` // how many spans were left out, the last to end
}

// Point is what a sentence tells of.
type Point struct {
	Step int    `json:"s,omitempty"` // 0: it tells of no step, but of an instant
	At   int64  `json:"t"`
	Says string `json:"w,omitempty"` // where no mark says it
}

// Mark is one step of a node.
type Mark struct {
	Step    int      `json:"s"`
	At      int64    `json:"t"`
	Lane    int      `json:"l"`
	Kind    Kind     `json:"k"`
	Job     int      `json:"j"` // among Jobs; -1: it is about none
	Says    string   `json:"w"`
	Phase   string   `json:"p,omitempty"`
	Outcome string   `json:"o,omitempty"` // where it went wrong
	Fault   string   `json:"f,omitempty"` // what struck it
	Broken  []string `json:"b,omitempty"` // what it broke
	Changes []Change `json:"c,omitempty"` // what it changed in the servers: all, of a step of a job that the page follows, and else the records of such jobs
	More    int      `json:"x,omitempty"` // how many changes more
	Went    string   `json:"r,omitempty"` // what the node had read of the job's record in the same handling
	Turns   []Turn   `json:"m,omitempty"` // what became of messages about such a job

	thins bool // it is about no job, and may be left out
}

// Turn is what became of a message in its stream, or at its consumer.
type Turn struct {
	Message int    `json:"i"` // among Messages
	Is      string `json:"w"` // stored, delivered, acknowledged, handed back, ended, or gone
}

// Kind says what a step is about, for who wants to see some alone.
type Kind string

// The kinds of step.
const (
	Message Kind = "message" // published, delivered, or answered
	Redis   Kind = "redis"
	Work    Kind = "work"    // of a worker
	Keeping Kind = "keeping" // of no job: heartbeats, snapshots, ticks
	Control Kind = "control" // what the harness did
)

// Change is one thing that a step changed: a field of a hash, a key, or a message of a stream.
type Change struct {
	Key   string `json:"k"`
	Field string `json:"f,omitempty"`
	Value string `json:"v,omitempty"`
	Gone  bool   `json:"g,omitempty"`
}

// Arrow leads from the step that sent a message to the step that it came to.
type Arrow struct {
	From  int  `json:"a"`           // index of a mark
	To    int  `json:"b"`           // likewise
	Again bool `json:"r,omitempty"` // the message had been delivered before
}

// Span is what lasts.
type Span struct {
	Lane int    `json:"l"`
	From int64  `json:"a"`
	To   int64  `json:"b"`
	What What   `json:"k"`
	Job  int    `json:"j"`           // -1: it is about none
	Slot int    `json:"n,omitempty"` // among those of its lane and kind that are under way at once, from 0
	Says string `json:"w"`
}

// What says what it is that lasts.
type What string

// What lasts.
const (
	Lock      What = "lock"      // a node holds the lock of a job, a run or a saga
	Lease     What = "lease"     // a replica does what one does for all
	Execution What = "execution" // a worker executes a job
	Life      What = "life"      // a worker counts as alive
	Fault     What = "fault"     // a node is down, paused or cut off, or a server is away
)
