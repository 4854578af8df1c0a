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

// answered is what the child of a [seat] answers.
type answered[Answer any] struct {
	Answer Answer `json:"answer"`
	Error  string `json:"error,omitempty"`
}

// newSeatWorker is the hidden command of the child of a [seat]. It reads from its standard input what all questions are about,
// and then questions, and answers each.
func newSeatWorker[About, Question, Answer any](name, short string, answer func(context.Context, *About, Question) (Answer, error)) *cobra.Command {
	return &cobra.Command{
		Use:    name,
		Short:  short,
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(cli.Interrupts()...) // they are for the parent, whose end ends the input
			asks, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
			var about About
			if err := asks.Decode(&about); err != nil {
				return err
			}
			for {
				var q Question
				if err := asks.Decode(&q); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return err
				}
				var a answered[Answer]
				var err error
				if a.Answer, err = answer(cmd.Context(), &about, q); err != nil {
					a.Error = err.Error()
				}
				if err := answers.Encode(a); err != nil {
					return err
				}
			}
		},
	}
}

// startSeatWorker starts a child that answers what is asked about that.
func startSeatWorker(ctx context.Context, name string, about any) (*child, error) {
	c, err := startChild(ctx, 1, []string{name}) // a world moves one step at a time
	if err != nil {
		return nil, err
	}
	return c, c.asks.Encode(about)
}

// answerOf has the seat's child answer. An error may be a [deadlyError].
func answerOf[Answer any](ctx context.Context, s *seat, question any) (Answer, error) {
	var a answered[Answer]
	err := s.ask(ctx, "a worker", question, &a)
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a.Answer, err
}
