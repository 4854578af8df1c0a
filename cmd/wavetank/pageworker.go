package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// pageWorker is the hidden command of the child processes that make pages of runs. One reads pages from its standard input,
// and answers each once it is made. The end of its input stops it in the middle of one.
const pageWorker = "page-worker"

// pageDone answers a page.
type pageDone struct {
	Error string `json:"error,omitempty"`
	Code  int    `json:"code,omitempty"` // to exit with
}

func newPageWorker() *cobra.Command {
	return &cobra.Command{
		Use:    pageWorker + " DIR",
		Short:  "Make the pages that are asked for on standard input",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			signal.Ignore(cli.Interrupts()...) // they are for the parent, which ends the input then
			return workPages(cmd.Context(), args[0], os.Stdin, os.Stdout)
		},
	}
}

func workPages(ctx context.Context, dir string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := make(chan runPage)
	go func() {
		defer cancel()
		list := json.NewDecoder(in)
		for {
			var p runPage
			if list.Decode(&p) != nil {
				return
			}
			select {
			case pages <- p:
			case <-ctx.Done():
				return
			}
		}
	}()
	answers := json.NewEncoder(out)
	for {
		select {
		case p := <-pages:
			done := pageDone{Code: cli.ExitInternal}
			if err := p.make(ctx, dir); err != nil {
				done.Error = err.Error()
				var known *cli.Error
				if errors.As(err, &known) {
					done.Code = known.Code
				}
			}
			if err := answers.Encode(done); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// page has the child make a page.
func (c *child) page(p runPage) error {
	var done pageDone
	if err := c.ask("the process that made the page of "+p.File, p, &done); err != nil {
		return err
	}
	if done.Error != "" {
		return &cli.Error{Code: done.Code, Text: done.Error}
	}
	return nil
}
