package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/reports/lasting"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// OTLPBegins is how a file of spans begins.
const OTLPBegins = `{"resourceSpans":[`

// OTLP writes the run as OpenTelemetry spans, a trace for each job and one for what is of no job, such as the lock of a saga, in the
// OTLP file format: JSON, a line for each span. Heartbeats, and for how long a worker counts as alive by them, are left out. A node
// is a service. events are the run's, in the order of steps. It fails with the first error of events or of w.
func OTLP(w io.Writer, plan *plans.Plan, res *scenarios.Result, events iter.Seq2[sim.Event, error]) error {
	o := &otlp{start: res.Start, enc: json.NewEncoder(w), jobs: map[string]*span{}, under: map[*lasting.Span]*span{}, sent: map[lasting.Message]link{}}
	o.enc.SetEscapeHTML(false)
	follow := lasting.NewFollower(plan.Engine.WorkerTTL)
	last := time.Duration(0)
	for e, err := range events {
		if err != nil {
			return err
		}
		last = e.At
		begun, ended := follow.Next(&e)
		for _, l := range begun {
			if l.What != lasting.Lives {
				o.under[l] = o.begin(l)
			}
		}
		if !history.Idles(&e) && !history.Beats(&e) {
			o.step(&e, follow.During(&e))
		}
		for _, l := range ended {
			o.end(l)
		}
		if o.err != nil {
			return o.err
		}
	}
	for _, l := range follow.Rest(last) {
		o.end(l)
	}
	for i := range res.Fired {
		f := &res.Fired[i]
		s := o.span("faults", f.Fault, f.Node, f.At, i+1)
		o.ends(s, lasting.UntilOf(f, last))
		o.write(f.Node, s)
	}
	for i := range res.Violations {
		v := &res.Violations[i]
		of := v.Job
		if of == "" {
			of = "violations"
		}
		s := o.span(of, v.Invariant, "judge", v.At, i+1)
		o.ends(s, v.At)
		s.Status = &status{Code: statusError, Message: v.Message}
		o.write("judge", s)
	}
	for _, id := range o.order {
		o.write("client", o.jobs[id])
	}
	return o.err
}

// The kinds of span and the code of a status: opentelemetry/proto/trace/v1/trace.proto.
const (
	kindInternal = 1
	kindProducer = 4
	kindConsumer = 5
	statusError  = 2
)

type otlp struct {
	start time.Time // of the world
	enc   *json.Encoder
	jobs  map[string]*span // the root of each job's trace
	order []string         // of the jobs, by their first steps
	under map[*lasting.Span]*span
	sent  map[lasting.Message]link
	err   error
}

type span struct {
	Trace      string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Events     []event     `json:"events,omitempty"`
	Links      []link      `json:"links,omitempty"`
	Status     *status     `json:"status,omitempty"`

	root *span // of its trace
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	String string `json:"stringValue"`
}

type event struct {
	Time       string      `json:"timeUnixNano"`
	Name       string      `json:"name"`
	Attributes []attribute `json:"attributes,omitempty"`
}

type link struct {
	Trace string `json:"traceId"`
	Span  string `json:"spanId"`
}

type status struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

// ofNone is the trace of what is of no job.
const ofNone = "no job"

func (o *otlp) unix(at time.Duration) string {
	return strconv.FormatInt(o.start.Add(at).UnixNano(), 10)
}

func attributes(pairs ...string) (list []attribute) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			list = append(list, attribute{pair[0], value{pair[1]}})
		}
	}
	return list
}

// span is a new span of a job, below the root of its trace.
func (o *otlp) span(of, name, node string, at time.Duration, n int) *span {
	trace := fmt.Sprintf("%016x%016x", hash("trace", of), hash("trace", of, "2"))
	root := o.jobs[of]
	if root == nil {
		root = &span{Trace: trace, ID: fmt.Sprintf("%016x", hash("root", of)), Name: of, Kind: kindInternal, Start: o.unix(at), End: o.unix(at)}
		o.jobs[of] = root
		o.order = append(o.order, of)
	}
	s := &span{Trace: trace, ID: fmt.Sprintf("%016x", hash(of, name, node, strconv.Itoa(n))), Parent: root.ID, Name: name, Kind: kindInternal, Start: o.unix(at), root: root}
	root.Start = min(root.Start, s.Start)
	return s
}

// ends ends a span, and the root of its trace no earlier.
func (o *otlp) ends(s *span, at time.Duration) {
	s.End = o.unix(at)
	s.root.End = max(s.root.End, s.End)
}

func (o *otlp) begin(l *lasting.Span) *span {
	s := o.span(cmp.Or(l.Job, ofNone), l.Title(), l.Node, l.From, l.Step)
	if l.What == lasting.Handles {
		s.Kind = kindConsumer
		if from, ok := o.sent[l.Message]; ok {
			s.Links = []link{from}
		}
	}
	s.Attributes = attributes("job", l.Job, "step", strconv.Itoa(l.Step))
	return s
}

func (o *otlp) end(l *lasting.Span) {
	s := o.under[l]
	if s == nil {
		return
	}
	delete(o.under, l)
	o.ends(s, l.To)
	o.write(l.Node, s)
}

// step is an event of the span that it is part of, or a span of its own.
func (o *otlp) step(e *sim.Event, during *lasting.Span) {
	about := attributes("step", strconv.Itoa(e.Step), "target", e.Target, "outcome", e.Outcome, "fault", e.Fault)
	s := o.under[during]
	alone := s == nil
	if alone {
		s = o.span(cmp.Or(e.Job, ofNone), title(e), e.Node, e.At, e.Step)
		o.ends(s, e.At)
		s.Attributes = append(attributes("job", e.Job), about...)
		if e.Kind == sim.KindPublish {
			s.Kind = kindProducer
		}
	} else {
		s.Events = append(s.Events, event{o.unix(e.At), title(e), about})
	}
	for _, change := range e.Changes {
		if change.Stream != "" && !change.Gone {
			o.sent[lasting.Message{Subject: change.Subject, Seq: change.Seq}] = link{s.Trace, s.ID}
		}
	}
	if alone {
		o.write(e.Node, s)
	}
}

// write writes one line: the span of a node.
func (o *otlp) write(node string, s *span) {
	if o.err != nil {
		return
	}
	type scope struct {
		Spans []*span `json:"spans"`
	}
	type resource struct {
		Resource struct {
			Attributes []attribute `json:"attributes"`
		} `json:"resource"`
		Scopes []scope `json:"scopeSpans"`
	}
	var r resource
	r.Resource.Attributes = attributes("service.name", cmp.Or(node, "harness"))
	r.Scopes = []scope{{[]*span{s}}}
	o.err = o.enc.Encode(struct {
		Resources []resource `json:"resourceSpans"`
	}{[]resource{r}})
}
