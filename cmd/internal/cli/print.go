package cli

import (
	"encoding/json"
	"fmt"
	"io"
)

// Printer writes for people.
type Printer struct {
	W      io.Writer
	colors bool
}

// NewPrinter is a printer with colours where w shows them, and nobody asks for none.
func NewPrinter(w io.Writer) *Printer { return &Printer{w, colored(w)} }

// Line writes a line.
func (p *Printer) Line(format string, args ...any) {
	fmt.Fprintln(p.W, Visible(fmt.Sprintf(format, args...), p.colors))
}

// The colours, as terminals number them.
const (
	Red    = 31
	Green  = 32
	Yellow = 33
	Bold   = 1
)

// Paint colours text.
func (p *Printer) Paint(color int, text string) string {
	if !p.colors {
		return text
	}
	return fmt.Sprintf("\033[%dm%s\033[0m", color, text)
}

// ShownMax bounds each list; the report has the whole.
const ShownMax = 12

// Section writes a list under its title.
func Section[T any](p *Printer, title string, list []T, text func(T) string) {
	if len(list) == 0 {
		return
	}
	p.Line("\n%s", p.Paint(Bold, title))
	for i, entry := range list {
		if i == ShownMax {
			p.Line("  ... and %d more", len(list)-i)
			return
		}
		p.Line("  %s", text(entry))
	}
}

// PrintJSON writes content for programs.
func PrintJSON(w io.Writer, content any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(content); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}
