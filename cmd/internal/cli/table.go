package cli

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is a table in text, under its heads. A file or a pipe gets a row a line, as grep wants it; a terminal gets no
// line that is longer than it is wide.
type Table struct {
	Heads   []string
	Rows    [][]string
	Command string // the head of a column of commands, which stay whole, since they are pasted
}

// between is how far columns are apart.
const between = 2

// Write writes the table.
func (t *Table) Write(w io.Writer) error { return t.write(w, Columns(w)) }

// write writes the table into so many columns of a terminal, or as wide as it is if they are 0.
func (t *Table) write(w io.Writer, columns int) error {
	var b strings.Builder
	widths, fits := t.widths(columns)
	if fits {
		for _, row := range append([][]string{t.Heads}, t.Rows...) {
			writeRow(&b, row, widths)
		}
	} else {
		t.writeCards(&b, columns)
	}
	_, err := io.WriteString(w, Visible(b.String(), false))
	return err
}

// widths are those of the columns: what a narrow one does not need is shared by the others. It says too whether every
// word fits into them.
func (t *Table) widths(columns int) ([]int, bool) {
	natural, word := make([]int, len(t.Heads)), make([]int, len(t.Heads))
	for _, row := range append([][]string{t.Heads}, t.Rows...) {
		for i, cell := range row {
			natural[i] = max(natural[i], utf8.RuneCountInString(cell))
			if t.Heads[i] == t.Command {
				word[i] = natural[i]
			}
			for part := range strings.FieldsSeq(cell) {
				word[i] = max(word[i], utf8.RuneCountInString(part))
			}
		}
	}
	if columns == 0 {
		return natural, true
	}
	order := make([]int, len(natural))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return natural[a] - natural[b] })
	widths, room := make([]int, len(natural)), columns-between*(len(natural)-1)
	for n, i := range order {
		widths[i] = min(natural[i], max(word[i], room/(len(order)-n)))
		room -= widths[i]
	}
	return widths, room >= 0
}

// writeRow writes a row, of whose cells each may take some lines.
func writeRow(b *strings.Builder, row []string, widths []int) {
	cells, lines := make([][]string, len(row)), 1
	for i, cell := range row {
		cells[i] = folded(cell, widths[i])
		lines = max(lines, len(cells[i]))
	}
	for n := range lines {
		line := ""
		for i, cell := range cells {
			text := ""
			if n < len(cell) {
				text = cell[n]
			}
			line += text + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text))+between)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// writeCards writes each row by itself, a cell under the other.
func (t *Table) writeCards(b *strings.Builder, columns int) {
	const indent = 2
	longest := 0
	for _, head := range t.Heads[1:] {
		longest = max(longest, utf8.RuneCountInString(head))
	}
	longest = min(longest, columns/2)
	for _, row := range t.Rows {
		b.WriteString(strings.TrimSpace(t.Heads[0]+" "+row[0]) + "\n")
		for i, cell := range row[1:] {
			width := max(1, columns-indent-longest-between)
			if t.Heads[i+1] == t.Command {
				width = utf8.RuneCountInString(cell)
			}
			if cell != "" {
				writeRow(b, []string{"", t.Heads[i+1], cell}, []int{0, longest, width})
			}
		}
	}
}

// Prose writes text, folded if w is a terminal.
func Prose(w io.Writer, text string) error {
	columns := Columns(w)
	if columns == 0 {
		columns = utf8.RuneCountInString(text)
	}
	_, err := io.WriteString(w, Visible(strings.Join(folded(text, columns), "\n"), false)+"\n")
	return err
}
