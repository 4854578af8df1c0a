package cli

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

func isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colored says whether w takes colours.
func colored(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Progress is one line on a terminal that is written again and again. Nil shows nothing.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	shown bool
}

// NewProgress is a line on a terminal; nil where stderr is none.
func NewProgress(stderr io.Writer, quiet bool) *Progress {
	if quiet || !isTerminal(stderr) {
		return nil
	}
	return &Progress{w: stderr}
}

// Show writes the line anew.
func (p *Progress) Show(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	fmt.Fprintf(p.w, "\r\033[K"+format, args...)
}

// Done takes the line away.
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
