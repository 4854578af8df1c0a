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
	var records []*campaign.Record
	started := time.Now()
	campaignOf := func(dir string, spec campaign.Spec, place func(*campaign.Record)) error {
		if err := prepare(dir, spec, stderr); err != nil {
			return err
		}
		runs, err := f.run(ctx, dir, func(r *campaign.Record) { place(r); records = append(records, r) }, stderr)
		if errors.Is(err, cli.ErrInterrupted) {
			return f.interrupted(m, len(records))
		}
		if err == nil {
			m.done = len(records)
			m.runs, m.dirs = append(m.runs, runs), append(m.dirs, dir)
			m.res, err = sweep.Analyse(d, records)
		}
		return err
	}
	if there, err := campaign.Load(dir); err == nil && there.Equal(d.Spec()) && over(dir) {
		for n := 1; ; n++ { // it begins anew, and with it what was added
			if state, err := campaign.Look(addedDir(dir, n)); err != nil || state == campaign.None || state == campaign.Foreign {
				break
			}
			if err := os.RemoveAll(addedDir(dir, n)); err != nil {
				return nil, cli.Fail(cli.ExitUsage, "%s cannot be removed: %v; choose another folder with --out", addedDir(dir, n), err)
			}
		}
	}
	if err := campaignOf(dir, d.Spec(), func(*campaign.Record) {}); err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		round := d.Next(m.res, n, d.Budget-len(records))
		if round == nil || f.time > 0 && expected(time.Since(started), len(records), round.Runs()) > f.time {
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

// over says whether dir holds a campaign that was finished.
func over(dir string) bool {
	state, err := campaign.Look(dir)
	return err == nil && state == campaign.Finished
}

// expected is how long all runs take with so many more.
func expected(elapsed time.Duration, done, more int) time.Duration {
	return time.Duration(float64(elapsed) * float64(done+more) / float64(max(done, 1)))
}

func open(res *sweep.Result) (n int) {
	for _, r := range res.Answer.Rows {
		if r.Open {
			n++
		}
	}
	return n
}

// interrupted lets the same command go on: a campaign that is over would begin anew.
func (f *sweepFlags) interrupted(m *measured, done int) error {
	for _, dir := range m.dirs {
		_ = os.Remove(in(dir, campaign.ResultFile))
	}
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
		m.res.Notes = append(m.res.Notes, fmt.Sprintf("Cells of the map open no runs: there are more than %d.", pagesMax))
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
		return f.interrupted(m, m.done)
	}
	return err
}
