package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// PlanError is what is wrong with a plan, and what would be right. File, Line and Column are set
// when the plan came from a file.
type PlanError struct {
	File    string
	Line    int    // from 1; 0 when the file as a whole is meant
	Column  int    // from 1
	Path    string // the key, such as workload.jobs or faults[0].on.phase; empty for the plan as a whole
	Message string
	Remedy  string
	Source  string // the line of the file, for an excerpt
}

// Error is one line: FILE:LINE:COLUMN: message; remedy.
func (e *PlanError) Error() string {
	var b strings.Builder
	switch {
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	case e.File != "":
		b.WriteString(e.File + ": ")
	case e.Path != "" && !strings.Contains(e.Message, e.Path):
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Message)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

// Excerpt is the line of the file with a mark under the place, or "".
func (e *PlanError) Excerpt() string {
	const widthMax = 120
	if e.Source == "" || len(e.Source) > widthMax || e.Column < 1 || e.Column > len(e.Source)+1 {
		return ""
	}
	number := fmt.Sprintf("%5d | ", e.Line)
	blank := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, e.Source[:e.Column-1])
	return number + e.Source + "\n" + strings.Repeat(" ", len(number)) + blank + "^"
}

// FileReason is the reason of an error about a file, such as "permission denied", without the names of
// the call and of the file: a message gives the file once, where a reader looks for it.
func FileReason(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}
