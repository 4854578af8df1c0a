package campaign

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"
)

// SoFar returns what the campaign in dir has found so far, and the real time that it took, or 0 if that is
// unknown. For an unfinished campaign, runs that broke a promise and were not examined are counted as such.
func SoFar(dir string) (*Result, time.Duration, error) {
	state, err := Look(dir)
	if err != nil {
		return nil, 0, err
	}
	if state != Unfinished {
		res, err := LoadResult(dir)
		if err != nil || missing(filepath.Join(dir, JournalFile)) {
			return res, 0, err
		}
		s := source{dir: dir, spec: res.Spec}
		took, err := s.replay(func(*Record) error { return nil }, nil)
		return res, took, err
	}
	s, err := sourceOf(dir)
	if err != nil {
		return nil, 0, err
	}
	var broke []*Record
	f := newFold()
	h := hunt{closed: true, max: Options{}.withDefaults().FindingsMax, known: map[broken]*Finding{}, grid: s.spec.Grid != nil}
	took, err := s.replay(func(r *Record) error {
		f.add(r)
		if len(r.promises()) > 0 {
			broke = append(broke, r)
		}
		return nil
	}, h.examined)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(broke, func(a, b *Record) int { return cmp.Compare(a.N, b.N) })
	for _, r := range broke {
		h.see(r)
	}
	h.next()
	res := f.result(s.spec)
	h.into(res)
	return res, took, nil
}
