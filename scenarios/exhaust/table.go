package exhaust

import (
	"fmt"
	"slices"
	"strings"
)

// TableFile is the file with a line for each certificate in a folder of certificates. It survives their
// folders.
const TableFile = "certificates.tsv"

// TableHead is its first line.
const TableHead = "scenario\tpreset\tbuild\ttried\tbroken\toutside\tinconclusive\tmissed\tby\n"

// Row is the certificate's line in the table. Its column "by" counts violations outside a promise by the
// status of the cells that release them: an invariant that a run breaks counts once for each such cell. A run
// may break several, and the column "outside" counts it once.
func (c *Certificate) Row() string {
	by := map[string]int{}
	for _, r := range c.Releases {
		by[r.Cell.Status] += r.Tries
	}
	var cells []string
	for status, n := range by {
		cells = append(cells, fmt.Sprintf("%s %d", status, n))
	}
	slices.Sort(cells)
	return fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", c.Name, c.Preset, c.Build, len(c.Tries), c.Counts[Broken]+c.Counts[OutOfBounds],
		c.Counts[Outside], c.Counts[Inconclusive], c.Counts[Missed], strings.Join(cells, ", "))
}
