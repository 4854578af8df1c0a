package campaign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/shell"
)

// GapsError says which runs of a campaign are in no folder.
type GapsError struct {
	Runs int      // how many are missing
	Gaps []string // in words

	remedies []string // how to make them, each once
}

// gapsShown is how many gaps, and how many remedies, an error names.
const gapsShown = 12

func (e *GapsError) Error() string {
	are := "runs of it are"
	if e.Runs == 1 {
		are = "run of it is"
	}
	return fmt.Sprintf("the campaign is not complete: %d %s missing: %s; %s", e.Runs, are, shown(e.Gaps), shown(e.remedies))
}

func shown(list []string) string {
	more := ""
	if left := len(list) - gapsShown; left > 0 {
		more = fmt.Sprintf("; and %d more", left)
	}
	return strings.Join(list[:min(len(list), gapsShown)], "; ") + more
}

// gaps returns an error if a run is missing. It names the folder or the shard that should have it.
func (m *merger) gaps() error {
	e := &GapsError{}
	for n := 0; n < len(m.runs); {
		if m.runs[n] != 0 {
			n++
			continue
		}
		gap := span{n, n}
		owner, remedy := m.owner(n)
		for gap.end < len(m.runs) && m.runs[gap.end] == 0 {
			if other, _ := m.owner(gap.end); other != owner {
				break
			}
			gap.end++
		}
		n = gap.end
		e.Runs += gap.size()
		e.Gaps = append(e.Gaps, fmt.Sprintf("%s (%s)", owner, gap))
		if owner == "" {
			e.Gaps[len(e.Gaps)-1] = fmt.Sprintf("no folder has %s", gap)
		}
		if !slices.Contains(e.remedies, remedy) {
			e.remedies = append(e.remedies, remedy)
		}
	}
	if e.Runs > 0 {
		return e
	}
	return nil
}

// owner says who should have the n-th run, or "" if that is unknown, and how to make the run.
func (m *merger) owner(n int) (owner, remedy string) {
	for i := range m.sources {
		s := &m.sources[i]
		if s.spec.span().has(n) && !sameFolder(s.dir, m.out) {
			if Running(s.dir) {
				return s.where() + " is still running", "wait for " + s.dir
			}
			return s.where() + " was cut short", fmt.Sprintf("go on with %s (%s)", s.dir, s.goOn())
		}
	}
	of := m.sources[0].spec.Shard
	for i := range m.sources {
		if s := m.sources[i].spec.Shard; s != nil && (of == nil || s.N != of.N) {
			return "", "give the folders of the other shards, too"
		}
	}
	if of == nil {
		return "", "give the folders of the other shards, too"
	}
	k := 1
	for size := m.spec.size(); !(Shard{k, of.N}).of(size).has(n); {
		k++
	}
	return fmt.Sprintf("shard %d/%d is missing", k, of.N), fmt.Sprintf("run shard %d/%d (--shard %d/%d), or give its folder", k, of.N, k, of.N)
}

// goOn is the command that continues the folder's campaign.
func (s *source) goOn() string {
	if s.spec.Drawn == nil {
		return "the command that began it"
	}
	return "wavetank fuzz --resume " + shell.Word(s.dir)
}
