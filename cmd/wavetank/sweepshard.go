package main

import (
	"context"
	"errors"
	"io"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// sweepShardFile is in the folder of a sweep's shard, beside the campaign: what merge has to know to make the pages.
const sweepShardFile = "sweep-shard.json"

// sweepShard is its content.
type sweepShard struct {
	Definition *sweep.Definition `json:"definition"`
	Command    []string          `json:"command"`
}

// part makes the runs of a sweep's shard. There is no answer of it alone.
func (f *sweepFlags) part(ctx context.Context, dir string, spec campaign.Spec, s sweepShard, stdout, stderr io.Writer) error {
	if err := f.prepare(dir, there(in(dir, reports.PageFile)), spec, stderr); err != nil {
		return err
	}
	if err := cli.WriteFile(in(dir, sweepShardFile), func(w io.Writer) error { return cli.PrintJSON(w, s) }); err != nil {
		return err
	}
	done := 0
	res, err := f.run(ctx, dir, func(*campaign.Record) { done++ }, stderr)
	if errors.Is(err, cli.ErrInterrupted) {
		return interrupted(done)
	}
	if err != nil {
		return err
	}
	if err := reports.WriteCampaign(dir, cli.ProgramName(), res); err != nil {
		return unwritable(dir, err)
	}
	if f.json {
		if err := cli.PrintJSON(stdout, res); err != nil {
			return err
		}
	} else {
		printPart(cli.NewPrinter(stdout), res)
	}
	return outOfBounds(cli.NewPrinter(stderr), dir, res)
}
