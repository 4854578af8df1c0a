package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// measured is what became of a sweep's campaigns.
type measured struct {
	res  *sweep.Result
	runs []*campaign.Result
	dirs []string
	done int // runs
}

// addedDir is the folder of a round of added runs, from 1.
func addedDir(dir string, round int) string { return in(dir, fmt.Sprintf("added-%d", round)) }

// measure runs the sweep in dir, and then adds runs where its answer is open until its precision or the budget is reached.
func (f *sweepFlags) measure(ctx context.Context, dir string, d *sweep.Definition, stderr io.Writer) (*measured, error) {
	m := &measured{}
	again := there(in(dir, reports.SweepFile)) // which is made last
	if again {
		if err := anew(dir, d); err != nil {
			return nil, err
		}
	}
	var records []*campaign.Record
	started, before := time.Now(), 0 // runs that an earlier process has made
	campaignOf := func(dir string, spec campaign.Spec, place func(*campaign.Record)) error {
		if err := f.prepare(dir, again, spec, stderr); err != nil {
			return err
		}
		if done, err := campaign.Done(dir); err == nil {
			before += done
		}
		runs, err := f.run(ctx, dir, func(r *campaign.Record) { place(r); records = append(records, r) }, stderr)
		if errors.Is(err, cli.ErrInterrupted) {
			return interrupted(len(records))
		}
		if err == nil {
			m.done = len(records)
			m.runs, m.dirs = append(m.runs, runs), append(m.dirs, dir)
			m.res, err = sweep.Analyse(d, records)
		}
		return err
	}
	if err := campaignOf(dir, d.Spec(), func(*campaign.Record) {}); err != nil {
		return nil, err
	}
	again = false
	for n := 1; ; n++ {
		round := d.Next(m.res, n, d.Budget-len(records))
		if round == nil || f.time > 0 && expected(time.Since(started), len(records)-before, round.Runs()) > f.time {
			return m, nil
		}
		if !f.quiet {
			fmt.Fprintf(stderr, "%s open: %s\n", cli.Plural(open(m.res), "row"), cli.Plural(round.Runs(), "more run"))
		}
		if err := campaignOf(addedDir(dir, n), d.SpecOf(round), round.Place); err != nil {
			return nil, err
		}
	}
}

// anew takes away what a sweep has left that was over, if it is the same: first what says so.
func anew(dir string, d *sweep.Definition) error {
	if _, err := fits(dir, d.Spec()); err != nil {
		return err
	}
	if err := removeAll(in(dir, reports.SweepFile)); err != nil {
		return err
	}
	for n := 1; ; n++ {
		if state, err := campaign.Look(addedDir(dir, n)); err != nil || state == campaign.None || state == campaign.Foreign {
			return nil
		}
		if err := removeAll(addedDir(dir, n)); err != nil {
			return err
		}
	}
}

// expected is how long it takes with so many more runs, if so many took what has elapsed.
func expected(elapsed time.Duration, done, more int) time.Duration {
	if done <= 0 { // all runs so far are of an earlier process
		return elapsed
	}
	return time.Duration(float64(elapsed) * float64(done+more) / float64(done))
}

func open(res *sweep.Result) (n int) {
	for _, r := range res.Answer.Rows {
		if r.Open {
			n++
		}
	}
	return n
}

// interrupted says how to go on.
func interrupted(done int) error {
	return cli.Fail(cli.ExitInterrupted, "interrupted after %s; they are kept. Go on with the same command", cli.Plural(done, "run"))
}

// pagesMax is how many cells of a map open a run: each page takes some 200 ms, and 400 KB.
const pagesMax = 120

// pages makes a page of the worst run of each point. Of more points than have one, none has.
func (f *sweepFlags) pages(ctx context.Context, dir string, d *sweep.Definition, m *measured, stderr io.Writer) error {
	var list []runPage
	for i := range m.res.Points {
		w := m.res.Points[i].Worst
		if w == nil {
			continue
		}
		if len(m.res.Points) > pagesMax {
			m.res.Points[i].Worst = nil
			continue
		}
		text, err := d.PlanOf(i, w.Seed)
		if err != nil {
			return err
		}
		list = append(list, runPage{w.File, text})
	}
	if len(m.res.Points) > pagesMax {
		m.res.Notes = append(m.res.Notes, fmt.Sprintf("The map has more than %d cells, so they do not link to runs.", pagesMax))
	}
	old, _ := os.ReadDir(in(dir, sweep.ExamplesDir))
	for _, e := range old {
		file := sweep.ExamplesDir + "/" + strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".html"), ".yaml")
		if strings.HasPrefix(e.Name(), "point-") && !slices.ContainsFunc(list, func(p runPage) bool { return p.File == file }) {
			_ = os.Remove(in(dir, sweep.ExamplesDir+"/"+e.Name()))
		}
	}
	if len(list) == 0 {
		return nil
	}
	err := runPages(ctx, dir, d.Name, list, f.quiet, stderr)
	if errors.Is(err, cli.ErrInterrupted) {
		return interrupted(m.done)
	}
	return err
}
