package campaign

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"time"
)

// SoFar is what the campaign in dir has found, and the real time that it took, or 0 if that is not known. Of one that was cut
// short it is what is there: runs that broke a promise and were not examined are counted as such.
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
		var took time.Duration
		err = s.each(func(e entry) error {
			took = max(took, e.Elapsed)
			return nil
		})
		return res, took, err
	}
	s, err := sourceOf(dir)
	if err != nil {
		return nil, 0, err
	}
	var took time.Duration
	var broke []*Record
	f, done := newFold(), set{}
	h := hunt{closed: true, known: map[broken]*Finding{}, grid: s.spec.Grid != nil}
	err = s.each(func(e entry) error {
		took = max(took, e.Elapsed)
		switch {
		case e.Record != nil:
			if err := e.Record.check(s.spec.span(), done); err != nil {
				return err
			}
			done.add(e.Record.N)
			f.add(e.Record)
			if len(e.Record.promises()) > 0 {
				broke = append(broke, e.Record)
			}
		case e.Examined != nil && e.Examined.Finding != nil:
			h.found(broken{e.Examined.N, e.Examined.Invariant}, *e.Examined.Finding)
		default:
			return errors.New("the line says nothing")
		}
		return nil
	})
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
