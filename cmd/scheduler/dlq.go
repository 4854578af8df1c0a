package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/faults/suggest"
)

// dlqJSONVersion is the format of what --json prints.
const dlqJSONVersion = 1

func newDLQ() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "Triage dead letters, and replay those that may be replayed",
		Long: `Dlq shows the dead-letter queue of real servers: what failed, what the triage policy
decides about it, and what happened to its replay. ` + "`scheduler serve --dlq-policy`" + `
triages and replays by itself. It leaves the rest to a person, who uses these commands.`,
		Example: `  scheduler dlq list --status pending_review
  scheduler dlq show mail-17 --policy triage.yaml
  scheduler dlq check triage.yaml`,
	}
	cli.Group(cmd)
	cmd.AddCommand(newDLQList(), newDLQShow(), newDLQReplay(), newDLQApprove(), newDLQMend(), newDLQDeny(), newDLQCheck())
	return cmd
}

func newDLQCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say whether a file is a triage policy",
		Long: `Check reads a triage policy strictly, as ` + "`scheduler serve --dlq-policy`" + ` does, and
prints what the policy decides for each reason code. It needs no servers.

Exit codes: 0 it is a triage policy, 2 it is not.`,
		Example: `  scheduler dlq check triage.yaml`,
		Args:    cli.OneArg("the file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return cli.Usage(cmd, "FILE is empty; give the file of a triage policy")
			}
			policy, err := loadTriage(args[0])
			if err != nil {
				return err
			}
			p := cli.NewPrinter(cmd.OutOrStdout())
			p.Line("%s: %s", args[0], cli.Plural(len(policy.Rules), "rule"))
			table := &cli.Table{Heads: []string{"", "REASON CODE", "ACTION", "FOR", "BY"}}
			for _, code := range dlq.ReasonCodes() {
				d := policy.Decide(&dlq.Entry{Status: "FAILED", ReasonCode: code})
				by := "the default of its class"
				if d.Rule > 0 {
					by = fmt.Sprintf("rule %d", d.Rule)
				}
				table.Rows = append(table.Rows, []string{"", code, string(d.Action), forWhom(&d), by})
			}
			return table.Write(cmd.OutOrStdout())
		},
	}
}

// forWhom are the groups that a decision leaves an entry to.
func forWhom(d *dlq.Decision) string {
	switch {
	case d.Owner != "" && d.ApproverGroup != "":
		return d.ApproverGroup + ", owner " + d.Owner
	case d.Owner+d.ApproverGroup != "":
		return d.Owner + d.ApproverGroup
	case d.Action == dlq.AutoReplay:
		return "-"
	}
	return "anybody"
}

type dlqListFlags struct {
	dlqFlags
	reason, topic, status string
}

func newDLQList() *cobra.Command {
	var f dlqListFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, the oldest first",
		Long: `List prints the dead letters that Redis holds, and what happened to each. A worker may
give its own reason codes, so --reason takes any code. If none matches, list names
the codes that occur.

Exit codes: 0 listed, 2 usage, or a server that does not answer, 3 a server lost
midway.`,
		Example: `  scheduler dlq list
  scheduler dlq list --reason timeout --status scheduled
  scheduler dlq list --json | jq -r '.entries[].job_id'`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	f.AddReader(cmd)
	cli.JSONFlag(cmd, &f.json)
	cmd.Flags().StringVar(&f.reason, "reason", "", "only those with a `REASON_CODE`, or whose last attempt before they were given up had it")
	cmd.Flags().StringVar(&f.topic, "topic", "", "only those of a `TOPIC`")
	cmd.Flags().StringVar(&f.status, "status", "", "only those of a replay `STATUS`: "+strings.Join(dlq.Statuses, ", "))
	return cmd
}

func (f *dlqListFlags) run(ctx context.Context, stdout io.Writer) error {
	if f.status != "" && !slices.Contains(dlq.Statuses, f.status) {
		return cli.Fail(cli.ExitUsage, "--status is %q; one of %s", f.status, strings.Join(dlq.Statuses, ", "))
	}
	return f.look(ctx, func(ctx context.Context, r *dlq.Replayer) error {
		all, err := r.Queue.List(ctx)
		if err != nil {
			return err
		}
		entries := slices.DeleteFunc(slices.Clone(all), func(e dlq.Entry) bool {
			return f.reason != "" && e.ReasonCode != f.reason && e.LastCause != f.reason || f.topic != "" && e.Topic != f.topic || f.status != "" && e.ReplayStatus != f.status
		})
		if f.json {
			return cli.PrintJSON(stdout, struct {
				Version int         `json:"version"`
				Entries []dlq.Entry `json:"entries"`
			}{dlqJSONVersion, append([]dlq.Entry{}, entries...)})
		}
		p := cli.NewPrinter(stdout)
		if len(entries) == 0 && len(all) > 0 {
			p.Line("%s", f.noneOf(all))
			return nil
		}
		return printLetters(p, entries)
	})
}

// noneOf says that none of the dead letters matches, and what there is instead of a reason code or a topic
// that none has.
func (f *dlqListFlags) noneOf(all []dlq.Entry) string {
	text := fmt.Sprintf("None of %s matches.", cli.Plural(len(all), "dead letter"))
	for _, by := range []struct {
		flag, word string
		of         func(*dlq.Entry) string
	}{
		{"--reason", f.reason, func(e *dlq.Entry) string { return e.ReasonCode }},
		{"--topic", f.topic, func(e *dlq.Entry) string { return e.Topic }},
	} {
		there := map[string]bool{}
		for i := range all {
			if word := by.of(&all[i]); word != "" {
				there[word] = true
			}
		}
		if by.word != "" && !there[by.word] {
			known := slices.Sorted(maps.Keys(there))
			text += fmt.Sprintf(" None has %s %s%s; there are %s.", by.flag, by.word, suggest.Hint(by.word, known), strings.Join(known, ", "))
		}
	}
	return text
}

func printLetters(p *cli.Printer, entries []dlq.Entry) error {
	if len(entries) == 0 {
		p.Line("No dead letters.")
		return nil
	}
	table := &cli.Table{Heads: []string{"CAME (UTC)", "JOB", "REASON CODE", "REPLAY"}}
	for _, e := range entries {
		replay := e.ReplayStatus
		if replay == dlq.Scheduled {
			replay = "due " + time.UnixMilli(e.NextReplayAt).UTC().Format("15:04:05")
		}
		table.Rows = append(table.Rows, []string{time.UnixMilli(e.CreatedAt).UTC().Format("01-02 15:04:05"), e.JobID, reasonOf(&e), replay})
	}
	if err := table.Write(p.W); err != nil {
		return err
	}
	p.Line("%s; `%s` shows one.", cli.Plural(len(entries), "dead letter"), cli.Pasteable("scheduler dlq show JOB"))
	return nil
}

// reasonOf is an entry's reason code; of one that was given up, how often it was tried and what it met last.
func reasonOf(e *dlq.Entry) string {
	if e.LastCause == "" {
		return e.ReasonCode
	}
	return fmt.Sprintf("%dx %s", e.Attempts, e.LastCause)
}

func newDLQShow() *cobra.Command {
	var f dlqFlags
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Show a dead letter, what triage decides about it, and its audit trail",
		Long: `Show prints a job's dead letter, the class of its reason code, what the triage policy
decides about it and why, and what the audit trail holds about it.

Exit codes: 0 shown, 2 usage, no such dead letter, or a server that does not answer,
3 a server lost midway.`,
		Example: `  scheduler dlq show mail-17
  scheduler dlq show mail-17 --policy triage.yaml --json`,
		Args: cli.OneArg("the job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.show(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	f.AddReader(cmd)
	f.addPolicy(cmd)
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

func (f *dlqFlags) show(ctx context.Context, id string, stdout io.Writer) error {
	return f.look(ctx, func(ctx context.Context, r *dlq.Replayer) error {
		e, err := r.Entry(ctx, id)
		if err != nil {
			return err
		}
		trail, err := r.Queue.Trail(ctx, id)
		if err != nil {
			return err
		}
		d := r.Stands(&e)
		if f.json {
			return cli.PrintJSON(stdout, struct {
				Version  int       `json:"version"`
				Entry    dlq.Entry `json:"entry"`
				Class    string    `json:"class"`
				Decision string    `json:"action"`
				Why      string    `json:"why"`
				Audit    any       `json:"audit"`
			}{dlqJSONVersion, e, d.Class, string(d.Action), d.Why, trail})
		}
		p := cli.NewPrinter(stdout)
		p.Line("%s  %s, %s: %s", p.Paint(cli.Bold, e.JobID), e.Status, e.ReasonCode, e.Reason)
		if e.LastCause != "" {
			p.Line("  last attempt: %s", e.LastCause)
		}
		p.Line("  topic %s, attempts %d, idempotency key %s", e.Topic, e.Attempts, e.IdempotencyKey)
		if e.ReplayOf != "" {
			p.Line("  replay %d of %s", e.ReplayCount, e.ReplayOf)
		}
		p.Line("  class %s; triage: %s", d.Class, d.Action)
		became := becameOf(e)
		if !strings.Contains(became, d.Why) {
			p.Line("  %s", d.Why)
		}
		p.Line("  replay: %s%s", e.ReplayStatus, became)
		if len(trail) > 0 {
			p.Line("\n%s", p.Paint(cli.Bold, "Trail"))
		}
		for _, a := range trail {
			p.Line("  %s  %s by %s", time.UnixMilli(a.At).UTC().Format(time.RFC3339), a.Kind, a.By)
			if a.Reason != "" {
				p.Line("    %s", a.Reason)
			}
		}
		return nil
	})
}

// becameOf is what there is to say of an entry's replay.
func becameOf(e dlq.Entry) string {
	switch {
	case e.ReplayJob != "":
		return ", as " + e.ReplayJob
	case e.ReplayStatus == dlq.Scheduled:
		return ", due at " + time.UnixMilli(e.NextReplayAt).UTC().Format(time.RFC3339)
	case e.ReplayReason != "":
		return "\n    " + e.ReplayReason
	}
	return ""
}
