package main

import (
	"context"
	"errors"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// runPages makes the pages of runs, one in each child process at a time; what names the runs in lines of progress. After a
// Ctrl-C its error is cli.ErrInterrupted.
func runPages(ctx context.Context, dir, what string, list []runPage, quiet bool, stderr io.Writer) error {
	if len(list) == 0 {
		return nil
	}
	ctx, done, err := inOwnTemp(ctx, tempdir.Memory())
	if err != nil {
		return err
	}
	defer done()
	show := cli.NewProgress(stderr, quiet)
	defer show.Done()
	show.Begin("making %s of runs of %s", cli.Plural(len(list), "page"), what)
	pages, ended := errgroup.WithContext(ctx)
	free := make(chan *child, runtime.NumCPU())
	for range min(cap(free), len(list)) {
		c, err := startChild(context.WithoutCancel(ctx), 1, []string{pageWorker, dir}) // a world moves one step at a time
		if err != nil {
			return err
		}
		defer c.stop()
		defer context.AfterFunc(ended, func() { _ = c.in.Close() })()
		free <- c
	}
	for i, page := range list {
		var c *child
		select {
		case c = <-free:
		case <-ended.Done():
		}
		if c == nil {
			break
		}
		show.Show("%s: page %d of %d of its runs", what, i+1, len(list))
		pages.Go(func() error {
			defer func() { free <- c }()
			return c.page(page)
		})
	}
	err = pages.Wait()
	if errors.Is(context.Cause(ctx), cli.ErrInterrupted) {
		return cli.ErrInterrupted
	}
	return err
}
