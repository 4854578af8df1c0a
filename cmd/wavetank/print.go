package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// printer writes a run for people.
type printer struct {
	w      io.Writer
	colors bool
}

func newPrinter(w io.Writer) *printer { return &printer{w, colored(w)} }

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// The colours, as terminals number them.
const (
	red    = 31
	green  = 32
	yellow = 33
	bold   = 1
)

func (p *printer) paint(color int, text string) string {
	if !p.colors {
		return text
	}
	return fmt.Sprintf("\033[%dm%s\033[0m", color, text)
}

// before says what is about to run: the plan, and every setting that is not its default.
func (p *printer) before(s *subject) {
	p.line("%s, preset %s, seed %d", p.paint(bold, s.Name), s.Preset, s.Seed)
	if lead := s.Lead(); lead != "" {
		p.line("  %s", lead)
	}
	for _, change := range s.Changes() {
		p.line("  %s", change)
	}
	for _, f := range s.Faults {
		p.line("  fault: %s", f)
	}
	for _, name := range s.Expect.Judged {
		p.line("  %s is judged whatever its promise", name)
	}
	p.line("")
}

// shownMax bounds each list; the report has the whole.
const shownMax = 12

// after says what came of it. The last line is the command that repeats it.
func (p *printer) after(res *scenarios.Result, page string) {
	p.verdict(res)
	p.line("\n%s", p.paint(bold, "Story"))
	for _, sentence := range res.Telling { // it has a bound of its own
		p.line("  %s", sentence)
	}
	section(p, "Faults that fired", res.Fired, func(f scenarios.FiredFault) string {
		return fmt.Sprintf("%s: step %d, %s, %s", f.Fault, f.Step, instant(f.At), f.Node)
	})
	section(p, "Faults that did not fire as they should", res.Unfired, func(s string) string { return s })
	section(p, "Of no effect", res.Idle, func(s string) string { return s })
	var judged, beyond []scenarios.Violation
	for _, v := range res.Violations {
		if v.Promised {
			judged = append(judged, v)
		} else {
			beyond = append(beyond, v)
		}
	}
	violation := func(v scenarios.Violation) string {
		return fmt.Sprintf("%s: step %d, %s: %s", v.Invariant, v.Step, instant(v.At), v.Message)
	}
	section(p, "Violated", judged, violation)
	section(p, "Broken outside its promise", beyond, violation)
	section(p, "Not settled", res.Unsettled, func(u scenarios.Unsettled) string {
		return fmt.Sprintf("%s is %s since %s: %s", u.Job, cmp.Or(u.State, "without a record"), instant(u.Since), u.Reason)
	})
	section(p, "Still to come", res.Open, func(s string) string { return s })
	p.line("\n%d steps, %s of virtual time, digest %s", res.Steps, res.Virtual.Round(time.Millisecond), res.Digest)
	p.line("Report: %s", page)
	p.line("Replay: %s", pasteable(res.Replay))
}

func (p *printer) verdict(res *scenarios.Result) {
	color := map[scenarios.Verdict]int{scenarios.Held: green, scenarios.Violated: red}[res.Verdict]
	if color == 0 {
		color = yellow
	}
	p.line("%s  %s: %s", p.paint(color, strings.ToUpper(string(res.Verdict))), res.Scenario, res.Reason)
}

func section[T any](p *printer, title string, list []T, text func(T) string) {
	if len(list) == 0 {
		return
	}
	p.line("\n%s", p.paint(bold, title))
	for i, entry := range list {
		if i == shownMax {
			p.line("  ... and %d more", len(list)-i)
			return
		}
		p.line("  %s", text(entry))
	}
}

// instant is a virtual time since the start, to the millisecond.
func instant(d time.Duration) string { return d.Round(time.Millisecond).String() }
