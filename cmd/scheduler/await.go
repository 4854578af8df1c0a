package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// ending is what became of a job that was submitted.
type ending struct {
	Job        string    `json:"job_id"`
	State      job.State `json:"state,omitempty"` // empty where nobody looked
	Attempts   int       `json:"attempts,omitempty"`
	Worker     string    `json:"worker,omitempty"`
	ReasonCode string    `json:"reason_code,omitempty"`
	Reason     string    `json:"reason,omitempty"`

	ExistedSince *time.Time `json:"existed_since,omitempty"` // of a job that was there when it was submitted
}

func endings(ids []string) []ending {
	list := make([]ending, len(ids))
	for i, id := range ids {
		list[i].Job = id
	}
	return list
}

// awaitBatch is how many records are read in one round trip.
const awaitBatch = 1_000

// awaitJobs reads the jobs' records until all are terminal, or until timeout is over, if it is not 0: then late
// says so. A Redis that does not answer meanwhile is asked again.
func awaitJobs(ctx context.Context, client *redis.Client, ids []string, timeout time.Duration, show *cli.Progress, stderr io.Writer) (_ []ending, late string, _ error) {
	list := endings(ids)
	open := make([]*ending, len(list))
	for i := range list {
		open[i] = &list[i]
	}
	v := vigil{client: client, show: show, stderr: stderr}
	parked, gone := false, false // what has been said
	look := func() (over bool, err error) {
		err = refresh(ctx, client, open)
		open = slices.DeleteFunc(open, func(o *ending) bool { return o.State.Terminal() })
		switch {
		case len(open) == 0:
			return true, nil
		case err != nil && !servers.NoAnswer(err):
			return false, cli.Fail(cli.ExitInconclusive, "the jobs' records cannot be read: %v; the jobs go on", err)
		case err != nil:
			return false, err
		}
		if i := slices.IndexFunc(open, func(o *ending) bool { return o.State == job.ApprovalRequired }); i >= 0 && !parked {
			parked = true
			v.say("%s waits for its approval%s; `%s` shows it", open[i].Job, of(": ", open[i].Reason), lookAt(open[i].Job))
		}
		if i := slices.IndexFunc(open, func(o *ending) bool { return o.State == job.Absent }); i >= 0 && !gone {
			gone = true
			v.say("%s has no record any more: Redis has lost it; still waiting", open[i].Job)
		}
		if !parked && !gone {
			v.wonder(ctx, fmt.Sprint(len(open), open[0].Job, open[0].State), "waiting", open[0].Job)
		}
		return false, nil
	}
	far := func() string { return fmt.Sprintf("%d of %s ended", len(list)-len(open), cli.Plural(len(list), "job")) }
	late, err := v.until(ctx, timeout, look, far)
	if errors.Is(err, cli.ErrInterrupted) {
		err = cli.Fail(cli.ExitInterrupted, "interrupted; the jobs go on, %s", far())
	}
	return list, late, err
}

func refresh(ctx context.Context, client *redis.Client, open []*ending) error {
	for batch := range slices.Chunk(open, awaitBatch) {
		ctx, cancel := context.WithTimeout(ctx, servers.AnswerWithin)
		cmds, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, o := range batch {
				p.HMGet(ctx, store.JobKey(o.Job), "state", "attempts", "worker", "reason_code", "reason", "approval_reason")
			}
			return nil
		})
		cancel()
		if err != nil {
			return err
		}
		for i, cmd := range cmds {
			values := cmd.(*redis.SliceCmd).Val()
			text := func(n int) string { s, _ := values[n].(string); return s }
			o := batch[i]
			o.State, o.Worker, o.ReasonCode, o.Reason = job.State(text(0)), text(2), text(3), text(4)
			if o.State == job.ApprovalRequired {
				o.ReasonCode, o.Reason = "", text(5)
			}
			o.Attempts, _ = strconv.Atoi(text(1))
		}
	}
	return nil
}

// submitVersion is the format of what submit --json prints.
const submitVersion = 1

func printJobs(w io.Writer, list []ending) error {
	return cli.PrintJSON(w, map[string]any{"version": submitVersion, "jobs": list})
}

// conclude says what became of the jobs: how many ended in which state, why those did that did not succeed, and
// what tells more of those that wait.
func conclude(p *cli.Printer, list []ending, late string) error {
	count := map[job.State]int{}
	code := cli.ExitHeld
	var bad []ending
	for _, o := range list {
		count[o.State]++
		switch {
		case !o.State.Terminal():
			code = cli.ExitInconclusive
		case o.State != job.Succeeded && code == cli.ExitHeld:
			code = cli.ExitViolated
		}
		if o.State != job.Succeeded {
			bad = append(bad, o)
		}
	}
	var parts []string
	for _, s := range append(slices.Clone(job.States), job.Absent) {
		if n := count[s]; n > 0 {
			name := string(s)
			if s == job.Absent {
				name = "without a record"
			}
			parts = append(parts, cli.Thousands(n)+" "+name)
		}
	}
	color := map[int]int{cli.ExitHeld: cli.Green, cli.ExitViolated: cli.Red, cli.ExitInconclusive: cli.Yellow}[code]
	p.Line("%s", p.Paint(color, strings.Join(parts, ", ")))
	for i, o := range bad {
		if i == cli.ShownMax {
			p.Line("  ... and %d more", len(bad)-i)
			break
		}
		if o.State == job.Absent {
			p.Line("  %s has no record any more: Redis has lost it", o.Job)
			continue
		}
		why := fmt.Sprintf("after %s", cli.Plural(o.Attempts, "attempt"))
		if o.ReasonCode != "" {
			why = o.ReasonCode + ", " + why
		}
		if o.Reason != "" {
			why += ": " + o.Reason
		}
		p.Line("  %s is %s (%s)", o.Job, o.State, why)
	}
	for _, hint := range []struct {
		parked  bool
		command func(id string) string
		text    string
	}{
		{true, lookAt, "shows what waits for its approval"},
		{false, func(id string) string { return cli.Pasteable("scheduler show " + id) }, "says what it waits for"},
	} {
		i := slices.IndexFunc(bad, func(o ending) bool {
			return !o.State.Terminal() && o.State != job.Absent && (o.State == job.ApprovalRequired) == hint.parked
		})
		if i >= 0 {
			p.Line("  `%s` %s.", hint.command(bad[i].Job), hint.text)
		}
	}
	if code == cli.ExitHeld {
		return nil
	}
	return &cli.Error{Code: code, Text: late}
}
