package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"
)

func isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Columns is how wide w is if it is a terminal; 0 is as wide as it takes. COLUMNS says it where the terminal
// does not.
func Columns(w io.Writer) int {
	const usual = 80
	if !isTerminal(w) {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return usual
}

// colored says whether w takes colours.
func colored(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Progress says how far a command is: on a terminal on one line that is written again and again, and elsewhere on a line
// now and then. Nil says nothing.
type Progress struct {
	mu      sync.Mutex
	w       io.Writer
	columns func() int       // of the terminal as it is now; 0 without one
	shown   bool             // there is a line on the terminal
	now     func() time.Time // of a real clock
	last    time.Time        // of the last line elsewhere, or of the beginning
}

// plainEvery is how often a line comes where there is no terminal.
const plainEvery = 10 * time.Second

// NewProgress writes to stderr; nil if quiet.
func NewProgress(stderr io.Writer, quiet bool) *Progress {
	if quiet {
		return nil
	}
	return &Progress{w: stderr, columns: func() int { return Columns(stderr) }, now: time.Now, last: time.Now()}
}

// Show says how far it is.
func (p *Progress) Show(format string, args ...any) { p.show(false, format, args) }

// Begin says what begins that takes long.
func (p *Progress) Begin(format string, args ...any) { p.show(true, format, args) }

func (p *Progress) show(always bool, format string, args []any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if columns := p.columns(); columns > 0 {
		p.shown = true
		fmt.Fprintf(p.w, "\r\033[K%.*s", columns, fmt.Sprintf(format, args...)) // of a line that wraps, only the last row could be written again
	} else if now := p.now(); always || now.Sub(p.last) >= plainEvery {
		p.last = now
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// Done takes the line away from a terminal.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
		p.shown = false
	}
}
