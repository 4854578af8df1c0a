package campaign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// source is a folder with some of a campaign's runs.
type source struct {
	dir  string
	spec Spec
	head header
}

// sourceOf reads the spec of the folder dir, and the header of its journal. [source.each] reads the rest.
func sourceOf(dir string) (source, error) {
	s := source{dir: dir}
	var err error
	if s.spec, err = Load(dir); err != nil {
		return s, err
	}
	if err = s.each(func(entry) error { return errEnough }); errors.Is(err, errEnough) {
		err = nil
	}
	return s, err
}

// errEnough ends the reading of a journal early.
var errEnough = errors.New("enough was read")

// each calls take with each complete entry of the journal except the header. It takes no lock: writers only
// append, and what they append meanwhile is ignored.
func (s *source) each(take func(entry) error) error {
	path := filepath.Join(s.dir, JournalFile)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, strictyaml.FileReason(err))
	}
	defer f.Close() // it was only read: nothing to lose
	j := &journal{path: path, f: f}
	return j.read(func(n int, e entry) error {
		switch {
		case n > 1:
			return take(e)
		case e.Header.Spec != s.spec.hash():
			return fmt.Errorf("the journal belongs to another campaign than %s; %s", SpecFile, anew)
		}
		s.head = *e.Header
		return nil
	})
}

// replay passes on what the journal holds, and returns the real time that the campaign took.
func (s *source) replay(run func(*Record) error, finding func(examined) error) (took time.Duration, err error) {
	done := set{}
	err = s.each(func(e entry) error {
		took = max(took, e.Elapsed)
		return e.into(s.spec.span(), &done, run, finding)
	})
	return took, err
}

// Done counts the runs in the journal of the campaign in dir, whatever build wrote it.
func Done(dir string) (runs int, err error) {
	s, err := sourceOf(dir)
	if err == nil {
		_, err = s.replay(func(*Record) error { runs++; return nil }, nil)
	}
	return runs, err
}

// Check returns an error if the numbers of a stored result disagree with one another, or with the journal in
// dir. Without a journal it checks only the numbers.
func (res *Result) Check(dir string) error {
	all := res.Contained
	for _, n := range res.Verdicts {
		all += n
	}
	judged := res.Verdicts[scenarios.Held] + res.Verdicts[scenarios.Violated]
	switch {
	case res.Runs != all:
		return fmt.Errorf("it counts %d runs, but has the verdicts of %d", res.Runs, all)
	case res.Conclusive != judged:
		return fmt.Errorf("it counts %d conclusive runs, but %d runs held or were violated", res.Conclusive, judged)
	case res.Unjudged > judged:
		return fmt.Errorf("it counts %d runs in which an invariant was not judged, but only %d runs were conclusive", res.Unjudged, judged)
	case missing(filepath.Join(dir, JournalFile)):
		return nil
	}
	runs, s := 0, source{dir: dir, spec: res.Spec}
	_, err := s.replay(func(*Record) error { runs++; return nil }, nil)
	if err == nil && runs != res.Runs {
		err = fmt.Errorf("it counts %d runs, but %s has %d", res.Runs, JournalFile, runs)
	}
	return err
}

// sameFolder says whether both names are of one existing folder.
func sameFolder(a, b string) bool {
	there, errA := os.Stat(a)
	other, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(there, other)
}

// differs says how the whole campaign of another source differs, or is "".
func (s *source) differs(from *source) string {
	a, b := s.spec.Whole(), from.spec.Whole()
	switch {
	case a.hash() == b.hash():
		return ""
	case a.Name != b.Name:
		return fmt.Sprintf("%s rather than %s", a.Name, b.Name)
	case a.Seed != b.Seed:
		return fmt.Sprintf("seed %d rather than %d", a.Seed, b.Seed)
	case a.size() != b.size():
		return fmt.Sprintf("%d runs rather than %d", a.size(), b.size())
	}
	return "its plans differ"
}

// where describes the folder, and the part of the campaign in it.
func (s *source) where() string {
	if s.spec.Shard == nil {
		return s.dir
	}
	return fmt.Sprintf("%s (shard %s)", s.dir, s.spec.Shard)
}

// same is a hash of what equal runs have in common in their records. How far a run came that was ended by the
// real clock, or by its heap, is not part of it.
func (r *Record) same() uint64 {
	kept := *r
	if c := r.Contained; c != nil && c.What.doubtful() {
		kept.Contained = &Contained{What: c.What, Flaky: c.Flaky}
	}
	return hashOf(kept)
}

// NotDeterministicError is the error of a run that has two different records.
type NotDeterministicError struct {
	N          int    // the number of the run
	Plan       string // in YAML
	Says       string // how the records differ
	One, Other string // where the two records come from, such as a directory
}

func (e *NotDeterministicError) Error() string {
	return fmt.Sprintf("run %d is not deterministic: %s says %s", e.N, e.One, e.Says)
}

// notDeterministic returns the error of two different records of a run.
func notDeterministic(spec *Spec, a, b *Record, one, other string) error {
	says := fmt.Sprintf("that it was %s, and %s that it was %s", a.end(), other, b.end())
	if a.end() == b.end() {
		says = fmt.Sprintf("%s, and %s %s", differing(a, b), other, differing(b, a))
	}
	return unlike(spec, a.N, says, one, other)
}

func unlike(spec *Spec, n int, says, one, other string) error {
	plan, err := spec.Plan(n)
	if err != nil {
		return err
	}
	text, err := plans.Marshal(plan)
	if err != nil {
		return err
	}
	return &NotDeterministicError{N: n, Plan: string(text), Says: says, One: one, Other: other}
}

// differing returns the fields of a whose values differ in b, as JSON.
func differing(a, b *Record) string {
	fields := func(r *Record) (m map[string]json.RawMessage) {
		text, _ := json.Marshal(r)
		_ = json.Unmarshal(text, &m)
		return m
	}
	was, is := fields(a), fields(b)
	var list []string
	for name, v := range was {
		if !bytes.Equal(v, is[name]) {
			list = append(list, fmt.Sprintf("%s %.200s", name, v))
		}
	}
	slices.Sort(list)
	return cmp.Or(strings.Join(list, ", "), "nothing of that")
}
