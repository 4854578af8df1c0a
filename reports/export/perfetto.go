package export

import (
	"io"
	"iter"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/reports/lasting"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// The fields of Perfetto's messages, and the values of TrackEvent.Type: protos/perfetto/trace/trace_packet.proto and
// track_event/track_event.proto, track_descriptor.proto, process_descriptor.proto and debug_annotation.proto.
const (
	tracePacket = 1

	packetTimestamp  = 8
	packetSequence   = 10
	packetTrackEvent = 11
	packetDescriptor = 60

	descriptorUUID    = 1
	descriptorName    = 2
	descriptorProcess = 3
	descriptorParent  = 5
	processPID        = 1
	processName       = 6

	eventAnnotation = 4
	eventType       = 9
	eventTrack      = 11
	eventCategory   = 22
	eventName       = 23
	eventFlow       = 47

	annotationName   = 10
	annotationString = 6

	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
)

// PerfettoBegins is how a trace begins: with the tag of its first packet.
const PerfettoBegins = "\n"

// Perfetto writes the run as a Perfetto trace: a process for each node, with a track for its steps and others for what
// lasts. events are the run's, in the order of steps. It fails with the first error of events or of w.
func Perfetto(w io.Writer, plan *plans.Plan, res *scenarios.Result, events iter.Seq2[sim.Event, error]) error {
	p := &perfetto{w: w, tracks: map[uint64]bool{}}
	follow := lasting.NewFollower(plan.Engine.WorkerTTL)
	for e, err := range events {
		if err != nil {
			return err
		}
		p.last = e.At
		begun, ended := follow.Next(&e)
		for _, l := range ended {
			p.slice(sliceEnd, l)
		}
		for _, l := range begun {
			p.slice(sliceBegin, l)
		}
		if !history.Idles(&e) {
			p.step(&e)
		}
		if p.err != nil {
			return p.err
		}
	}
	for _, l := range follow.Rest(p.last) {
		p.slice(sliceEnd, l)
	}
	for i := range res.Fired {
		p.fault(&res.Fired[i], i)
	}
	for i := range res.Violations {
		v := &res.Violations[i]
		p.event(v.At, instant, p.track("judge", "violations"), "violation", v.Invariant, 0, note{"message", v.Message}, note{"job", v.Job}, note{"step", strconv.Itoa(v.Step)})
	}
	return p.err
}

type perfetto struct {
	w      io.Writer
	tracks map[uint64]bool // that are described
	nodes  int
	last   time.Duration
	err    error
}

type note struct{ name, value string }

// step is an instant on the track of its node.
func (p *perfetto) step(e *sim.Event) {
	node := e.Node
	if e.Kind == sim.KindControl {
		node = e.Target
	}
	if node == "" {
		node = "harness"
	}
	var stored lasting.Message
	for _, change := range e.Changes {
		if change.Stream != "" && !change.Gone {
			stored = lasting.Message{Subject: change.Subject, Seq: change.Seq}
		}
	}
	p.event(e.At, instant, p.track(node, "steps"), string(e.Kind), title(e), flow(stored),
		note{"step", strconv.Itoa(e.Step)}, note{"job", e.Job}, note{"target", e.Target}, note{"outcome", e.Outcome}, note{"fault", e.Fault})
}

func (p *perfetto) slice(kind uint64, s *lasting.Span) {
	track := p.track(s.Node, string(s.What)+" "+strconv.Itoa(s.Slot+1))
	if kind == sliceEnd {
		p.event(s.To, sliceEnd, track, "", "", 0)
		return
	}
	p.event(s.From, sliceBegin, track, string(s.What), s.Title(), flow(s.Message), note{"job", s.Job}, note{"step", strconv.Itoa(s.Step)})
}

// fault is a slice on a track of its own if it lasts, and else an instant.
func (p *perfetto) fault(f *scenarios.FiredFault, n int) {
	node := f.Node
	if node == "" {
		node = "harness"
	}
	notes := []note{{"job", f.Job}, {"phase", f.Phase}, {"step", strconv.Itoa(f.Step)}}
	track := p.track(node, "fault "+strconv.Itoa(n+1))
	until := lasting.UntilOf(f, p.last)
	if until == f.At {
		p.event(f.At, instant, track, "fault", f.Fault, 0, notes...)
		return
	}
	p.event(f.At, sliceBegin, track, "fault", f.Fault, 0, notes...)
	p.event(until, sliceEnd, track, "", "", 0)
}

// track is the track of that name below its node, which it describes if it is new.
func (p *perfetto) track(node, name string) uint64 {
	parent, id := hash(node), hash(node, name)
	if !p.tracks[parent] {
		p.tracks[parent] = true
		p.nodes++
		process := protowire.AppendTag(nil, processPID, protowire.VarintType)
		process = protowire.AppendVarint(process, uint64(p.nodes))
		process = text(process, processName, node)
		p.describe(varint(nil, descriptorUUID, parent), descriptorProcess, process)
	}
	if !p.tracks[id] {
		p.tracks[id] = true
		about := varint(nil, descriptorUUID, id)
		p.describe(varint(about, descriptorParent, parent), descriptorName, []byte(name))
	}
	return id
}

func (p *perfetto) describe(descriptor []byte, field protowire.Number, value []byte) {
	descriptor = protowire.AppendTag(descriptor, field, protowire.BytesType)
	descriptor = protowire.AppendBytes(descriptor, value)
	packet := protowire.AppendTag(nil, packetDescriptor, protowire.BytesType)
	p.packet(protowire.AppendBytes(packet, descriptor))
}

func (p *perfetto) event(at time.Duration, kind, track uint64, category, name string, flow uint64, notes ...note) {
	event := varint(varint(nil, eventType, kind), eventTrack, track)
	if name != "" {
		event = text(text(event, eventCategory, category), eventName, name)
	}
	for _, n := range slices.DeleteFunc(notes, func(n note) bool { return n.value == "" }) {
		annotation := text(text(nil, annotationName, n.name), annotationString, n.value)
		event = protowire.AppendTag(event, eventAnnotation, protowire.BytesType)
		event = protowire.AppendBytes(event, annotation)
	}
	if flow != 0 {
		event = protowire.AppendTag(event, eventFlow, protowire.Fixed64Type)
		event = protowire.AppendFixed64(event, flow)
	}
	packet := varint(nil, packetTimestamp, uint64(at))
	packet = protowire.AppendTag(packet, packetTrackEvent, protowire.BytesType)
	p.packet(protowire.AppendBytes(packet, event))
}

func (p *perfetto) packet(content []byte) {
	if p.err != nil {
		return
	}
	content = varint(content, packetSequence, 1)
	out := protowire.AppendTag(nil, tracePacket, protowire.BytesType)
	_, p.err = p.w.Write(protowire.AppendBytes(out, content))
}

func varint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}
