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

// source is a folder that holds some of a campaign's runs.
type source struct {
	dir  string
	spec Spec
	head header
}

// sourceOf reads what the folder dir is of. The journal is read by [source.each].
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

// errEnough ends the reading of a journal of which no more is asked.
var errEnough = errors.New("enough was read")

// each gives take the entries of the journal but the header, up to a last one that is not whole. It takes no lock: who
// writes there appends, and what is appended meanwhile is none of this.
func (s *source) each(take func(entry) error) error {
	path := filepath.Join(s.dir, JournalFile)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, strictyaml.FileReason(err))
	}
	defer f.Close() // read only: nothing to lose
	j := &journal{path: path, f: f}
	return j.read(func(n int, e entry) error {
		switch {
		case n > 1:
			return take(e)
		case e.Header.Spec != s.spec.hash():
			return fmt.Errorf("the journal is of another campaign than %s; %s", SpecFile, anew)
		}
		s.head = *e.Header
		return nil
	})
}

// replay hands on what the journal holds, and is the real time that it took.
func (s *source) replay(run func(*Record) error, finding func(examined) error) (took time.Duration, err error) {
	done := set{}
	err = s.each(func(e entry) error {
		took = max(took, e.Elapsed)
		return e.into(s.spec.span(), &done, run, finding)
	})
	return took, err
}

// Done counts the runs that the journal of the campaign in dir has, whatever build wrote it.
func Done(dir string) (runs int, err error) {
	s, err := sourceOf(dir)
	if err == nil {
		_, err = s.replay(func(*Record) error { runs++; return nil }, nil)
	}
	return runs, err
}

// Check says what is wrong with a stored result whose numbers do not agree with each other, or with the journal in dir. A
// folder without its journal has only the numbers.
func (res *Result) Check(dir string) error {
	all := res.Contained
	for _, n := range res.Verdicts {
		all += n
	}
	judged := res.Verdicts[scenarios.Held] + res.Verdicts[scenarios.Violated]
	switch {
	case res.Runs != all:
		return fmt.Errorf("it says that there were %d runs, and it has verdicts of %d", res.Runs, all)
	case res.Conclusive != judged:
		return fmt.Errorf("it says that %d runs were conclusive, and %d held or were violated", res.Conclusive, judged)
	case res.Unjudged > judged:
		return fmt.Errorf("it says that in %d runs an invariant was not judged, and %d were conclusive", res.Unjudged, judged)
	case missing(filepath.Join(dir, JournalFile)):
		return nil
	}
	runs, s := 0, source{dir: dir, spec: res.Spec}
	_, err := s.replay(func(*Record) error { runs++; return nil }, nil)
	if err == nil && runs != res.Runs {
		err = fmt.Errorf("it says that there were %d runs, and %s has %d", res.Runs, JournalFile, runs)
	}
	return err
}

// sameFolder says whether both names are of one folder that is there.
func sameFolder(a, b string) bool {
	there, errA := os.Stat(a)
	other, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(there, other)
}

// differs says in what the whole campaign of spec is another, or "".
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
	return "its plans are others"
}

// where says in words which folder it is, and what of the campaign is there.
func (s *source) where() string {
	if s.spec.Shard == nil {
		return s.dir
	}
	return fmt.Sprintf("%s (shard %s)", s.dir, s.spec.Shard)
}

// same is a number that records of one run have in common, whoever made it: how far a run came that went out of bounds by
// the real clock, or by its heap, is not the same each time.
func (r *Record) same() uint64 {
	kept := *r
	if c := r.Contained; c != nil && c.What.doubtful() {
		kept.Contained = &Contained{What: c.What, Flaky: c.Flaky}
	}
	return hashOf(kept)
}

// NotDeterministicError is of a run of which there are two records that differ.
type NotDeterministicError struct {
	N          int    // of the run
	Plan       string // as YAML
	Says       string // how they differ
	One, Other string // who has them
}

func (e *NotDeterministicError) Error() string {
	return fmt.Sprintf("run %d is not deterministic: %s has %s", e.N, e.One, e.Says)
}

// notDeterministic is the error of two records of a run.
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

// differing is the fields of a in which b is another, as JSON.
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
