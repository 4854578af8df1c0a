package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/store"
)

// ending is what became of a job that was submitted.
type ending struct {
	Job        string    `json:"job_id"`
	State      job.State `json:"state,omitempty"` // empty where nobody looked
	Attempts   int       `json:"attempts,omitempty"`
	Worker     string    `json:"worker,omitempty"`
	ReasonCode string    `json:"reason_code,omitempty"`
	Reason     string    `json:"reason,omitempty"`
}

func endings(ids []string) []ending {
	list := make([]ending, len(ids))
	for i, id := range ids {
		list[i].Job = id
	}
	return list
}

const (
	awaitEvery = 200 * time.Millisecond // how often the records are read
	awaitBatch = 1_000                  // records in one round trip
)

// awaitJobs reads the jobs' records until all are terminal, or until timeout is over, if it is not 0.
// A Redis that does not answer meanwhile is asked again.
func awaitJobs(ctx context.Context, client *redis.Client, ids []string, timeout time.Duration, show *progress) ([]ending, error) {
	deadline := make(<-chan time.Time)
	if timeout > 0 {
		deadline = time.After(timeout)
	}
	list := endings(ids)
	open := make([]*ending, len(list))
	for i := range list {
		open[i] = &list[i]
	}
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for {
		err := refresh(ctx, client, open)
		open = slices.DeleteFunc(open, func(o *ending) bool { return o.State.Terminal() })
		if len(open) == 0 {
			return list, nil
		}
		if err != nil {
			show.show("%d of %d jobs have ended; Redis does not answer: %v", len(list)-len(open), len(list), netReason(err))
		} else {
			show.show("%d of %d jobs have ended", len(list)-len(open), len(list))
		}
		select {
		case <-ctx.Done():
			return nil, fail(exitInterrupted, "interrupted; the jobs go on, %d of %d have ended", len(list)-len(open), len(list))
		case <-deadline:
			return list, nil
		case <-tick.C:
		}
	}
}

func refresh(ctx context.Context, client *redis.Client, open []*ending) error {
	for batch := range slices.Chunk(open, awaitBatch) {
		ctx, cancel := context.WithTimeout(ctx, answerWithin)
		cmds, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, o := range batch {
				p.HMGet(ctx, store.JobKey(o.Job), "state", "attempts", "worker", "reason_code", "reason")
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
			o.Attempts, _ = strconv.Atoi(text(1))
		}
	}
	return nil
}

// submitVersion is the format of what submit --json prints.
const submitVersion = 1

func printJobs(w io.Writer, list []ending) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]any{"version": submitVersion, "jobs": list})
}

// conclude says what became of the jobs: how many ended in which state, and why those did that did not
// succeed.
func conclude(p *printer, list []ending) error {
	count := map[job.State]int{}
	code := exitHeld
	var bad []ending
	for _, o := range list {
		count[o.State]++
		switch {
		case !o.State.Terminal():
			code = exitInconclusive
		case o.State != job.Succeeded && code == exitHeld:
			code = exitViolated
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
			parts = append(parts, thousands(n)+" "+name)
		}
	}
	color := map[int]int{exitHeld: green, exitViolated: red, exitInconclusive: yellow}[code]
	p.line("%s", p.paint(color, strings.Join(parts, ", ")))
	for i, o := range bad {
		if i == shownMax {
			p.line("  ... and %d more", len(bad)-i)
			break
		}
		why := fmt.Sprintf("after %s", plural(o.Attempts, "attempt"))
		if o.ReasonCode != "" {
			why = o.ReasonCode + ", " + why
		}
		if o.Reason != "" {
			why += ": " + o.Reason
		}
		p.line("  %s is %s (%s)", o.Job, o.State, why)
	}
	if code == exitHeld {
		return nil
	}
	return &exitError{code: code}
}
