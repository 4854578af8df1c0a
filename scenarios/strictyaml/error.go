package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is what is wrong with a file or with a value, and what would be right. File, Line and Column are set if the
// value came from a file.
type Error struct {
	File    string
	Line    int    // from 1; 0 if the file as a whole is meant
	Column  int    // from 1
	Path    string // the key, such as workload.jobs or faults[0].on.phase; empty for the whole
	Message string
	Remedy  string
	Source  string   // the line of the file, for an excerpt
	Also    []*Error // what else is wrong, in the order of the file
}

// Together is one error of all that are not nil, in the order of the file: of its whole last. It is nil if there is none.
func Together(list ...*Error) *Error {
	var all []*Error
	for _, e := range list {
		if e != nil {
			one := *e
			one.Also = nil
			all = append(append(all, &one), e.Also...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(uint(a.Line-1), uint(b.Line-1)), cmp.Compare(a.Column, b.Column))
	})
	all[0].Also = all[1:]
	return all[0]
}

// Error is one line: FILE:LINE:COLUMN: message; remedy.
func (e *Error) Error() string {
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
func (e *Error) Excerpt() string {
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

// Join is the path of a key in the part of a document that has another path; "" is the whole document.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
