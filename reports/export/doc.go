// Package export writes a run for programs that show traces: for Perfetto as TrackEvents, and for whatever takes
// OpenTelemetry as OTLP in JSON. Times are virtual; the same run gives the same bytes.
//
// What lasts (package lasting) and faults become slices or spans. Every other step is
// an instant on its node, or an event of the span in which it happens. A message leads from its publish to each of its
// deliveries, by a flow or by a link.
//
// Its files, each of which calls only those after it:
//
//	perfetto.go, otlp.go  the two forms
//	title.go              the names of steps and messages
package export
