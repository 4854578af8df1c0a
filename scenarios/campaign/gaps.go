package campaign

import (
	"fmt"
	"strings"
)

// GapsError says which runs of a campaign no folder has.
type GapsError struct {
	Runs int      // how many there are not
	Gaps []string // in words
}

// gapsShown is how many gaps an error names.
const gapsShown = 12

func (e *GapsError) Error() string {
	more := ""
	if left := len(e.Gaps) - gapsShown; left > 0 {
		more = fmt.Sprintf("; and %d more", left)
	}
	return fmt.Sprintf("the campaign is not whole, %d of its runs are missing: %s%s", e.Runs, strings.Join(e.Gaps[:min(len(e.Gaps), gapsShown)], "; "), more)
}

// gaps fails if a run is missing. It names the folder that ought to have it, or the shard.
func (m *merger) gaps() error {
	e := &GapsError{}
	for n := 0; n < len(m.runs); {
		if m.runs[n] != 0 {
			n++
			continue
		}
		gap := span{n, n}
		owner := m.owner(n)
		for gap.end < len(m.runs) && m.runs[gap.end] == 0 && m.owner(gap.end) == owner {
			gap.end++
		}
		n = gap.end
		e.Runs += gap.size()
		says := fmt.Sprintf("%s (%s)", owner, gap)
		if owner == "" {
			says = fmt.Sprintf("no folder has %s", gap)
		}
		e.Gaps = append(e.Gaps, says)
	}
	if e.Runs > 0 {
		return e
	}
	return nil
}

// owner says who ought to have the n-th run, or "" if there is no telling.
func (m *merger) owner(n int) string {
	for i := range m.sources {
		s := &m.sources[i]
		if s.spec.span().has(n) && !sameFolder(s.dir, m.out) {
			if Running(s.dir) {
				return s.where() + " is not done yet, and is being run"
			}
			return s.where() + " was cut short"
		}
	}
	of := m.sources[0].spec.Shard
	for i := range m.sources {
		if s := m.sources[i].spec.Shard; s != nil && (of == nil || s.N != of.N) {
			return ""
		}
	}
	if of == nil {
		return ""
	}
	k := 1
	for size := m.spec.size(); !(Shard{k, of.N}).of(size).has(n); {
		k++
	}
	return fmt.Sprintf("shard %d/%d is not there", k, of.N)
}
