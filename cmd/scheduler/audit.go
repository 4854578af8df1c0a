package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/audit"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
)

type auditFlags struct {
	servers.Flags
	engineFlags
	settled bool
	json    bool
}

func newAudit() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Judge what real servers hold by the invariants of a run",
		Long: `Audit reads the records, indexes, locks and DLQ entries in Redis and every message
of both streams, and judges them by the invariants of ` + "`wavetank run`" + ` that need
no more than that. It changes nothing. It does not read sagas' stacks, findings on
outputs, tenants' jobs in flight and the audit trail: only the course of a run tells
whether those are right. If the schedulers are at rest, it judges the data of one
instant. While they work, it may read a record before an index that has changed since.

With --settled, audit also judges what must have happened in the end. Give the jobs time
to settle first: seconds after the last job if nothing went wrong; after a kill -9 of a
scheduler, up to engine.ack_wait (10m), and after a kill -9 of a worker, up to
engine.running_timeout (30m), both plus three times engine.poll_interval (30s). If audit
runs sooner, it reports jobs that are still on their way as violations.

It knows of no fault, so every violation counts. Exit codes: 0 held, 1 violated,
2 usage, or a server that does not answer, 3 nothing to judge, as where no
scheduler has made its streams yet, or a server lost before all was read,
130 interrupted.`,
		Example: `  scheduler audit
  scheduler audit --settled --redis redis://redis:6379/0 --nats nats://nats:4222
  scheduler audit --preset documented --json | jq -r .verdict`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.AddClient(cmd)
	f.engineFlags.add(cmd, "the schedulers' settings")
	cmd.Flags().BoolVar(&f.settled, "settled", false, "also judge what must have happened in the end; give the jobs time to settle first, such as 12m after a scheduler's kill -9")
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

func (f *auditFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	settings, _, err := f.settings()
	if err != nil {
		return err
	}
	f.OrEmbedded()
	if err := f.CheckURLs(); err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(ctx, func() {})
	defer stop()
	c, err := f.Connect(ctx, "scheduler audit", servers.Reads)
	if err != nil && !errors.Is(err, servers.ErrNoStream) {
		return err
	}
	var res *audit.Result
	if err != nil { // no scheduler was ever here
		res = audit.Judge(settings, judge.AuditInput{Settled: f.settled})
		res.Reason = "nothing to judge: " + err.Error()
	} else {
		defer c.Close()
		show := cli.NewProgress(stderr, f.json)
		in, err := audit.Read(ctx, c, show)
		show.Done()
		if err != nil {
			return servers.Lost(ctx, err, "what the servers hold was not read to its end")
		}
		in.Settled = f.settled
		res = audit.Judge(settings, in)
	}
	if f.json {
		err = cli.PrintJSON(stdout, res)
	} else {
		err = printAudit(cli.NewPrinter(stdout), res)
	}
	if err != nil {
		return err
	}
	switch res.Verdict {
	case audit.Held:
		return nil
	case audit.Violated:
		return &cli.Error{Code: cli.ExitViolated}
	}
	return &cli.Error{Code: cli.ExitInconclusive}
}

func printAudit(p *cli.Printer, res *audit.Result) error {
	color := map[string]int{audit.Held: cli.Green, audit.Violated: cli.Red}[res.Verdict]
	if color == 0 {
		color = cli.Yellow
	}
	p.Line("%s  %s", p.Paint(color, strings.ToUpper(res.Verdict)), res.Reason)
	var states []string
	for _, s := range slices.Sorted(maps.Keys(res.States)) {
		states = append(states, cli.Thousands(res.States[s])+" "+s)
	}
	if len(states) == 0 {
		states = []string{"none"}
	}
	p.Line("  jobs: %s; %s, %s", strings.Join(states, ", "), cli.Plural(res.Keys, "key"), cli.Plural(res.Messages, "message"))
	cli.Section(p, "Violated", res.Violations, func(v audit.Violation) string { return v.Invariant + ": " + v.Message })
	p.Line("")
	table := &cli.Table{Heads: []string{"", "INVARIANT", "STATUS", "JUDGED"}}
	unseen := 0
	for _, i := range res.Invariants {
		if i.Status == audit.Unseen {
			unseen++
			continue
		}
		table.Rows = append(table.Rows, []string{"", i.Name, i.Status, times(i.Exercised)})
	}
	if err := table.Write(p.W); err != nil {
		return err
	}
	p.Line("  %d more had nothing to judge: most need the course of a run, which only a simulated world shows.", unseen)
	p.Line("  Not read: sagas' stacks, findings on outputs, tenants' jobs in flight, and the audit trail.")
	inPart := slices.DeleteFunc(slices.Clone(res.Invariants), func(i audit.Invariant) bool {
		return i.Status == audit.Unseen || i.Part == ""
	})
	cli.Section(p, "Judged in part", inPart, func(i audit.Invariant) string { return i.Name + ": " + i.Part })
	if !res.Settled {
		p.Line("\n  What must have happened in the end was not judged; --settled judges it.")
	}
	return nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return cli.Thousands(n) + " times"
}
