package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
)

type auditFlags struct {
	serverFlags
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
of both streams, and judges them by those invariants of ` + "`wavetank run`" + ` that need
no more than that. It changes nothing. Read at rest, the data of one instant is
judged; while schedulers work, a record may be read before an index that has
changed since.

With --settled it judges also what must come about in the end. That takes its time:
after the last job without a mishap, seconds; after a scheduler's kill -9 up to
engine.ack_wait (10m), after a worker's up to engine.running_timeout (30m), and three
times engine.poll_interval (30s) more. Sooner, what is still on its way is called a
violation.

It knows of no fault, so every violation counts. Exit codes: 0 held, 1 violated,
2 usage, or a server that does not answer, 3 nothing to judge, as where no
scheduler has made its streams yet, or a server lost before all was read,
130 interrupted.`,
		Example: `  wavetank audit
  wavetank audit --settled --redis redis://redis:6379/0 --nats nats://nats:4222
  wavetank audit --preset documented --json | jq -r .verdict`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.addClient(cmd)
	f.engineFlags.add(cmd, "the schedulers' settings")
	cmd.Flags().BoolVar(&f.settled, "settled", false, "all had its time to settle: judge also what must come about in the end; 12m after a scheduler's kill -9, say")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON, and nothing else, on standard output")
	return cmd
}

func (f *auditFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	settings, _, err := f.settings()
	if err != nil {
		return err
	}
	f.orEmbedded()
	if err := f.checkURLs(); err != nil {
		return err
	}
	ctx, stop := interruptible(ctx, func() {})
	defer stop()
	c, err := f.connect(ctx, "wavetank audit", reads)
	if err != nil && !errors.Is(err, errNoStream) {
		return err
	}
	var res *scenarios.AuditResult
	if err != nil { // no scheduler was ever here
		res = scenarios.Audit(settings, invariants.AuditInput{Settled: f.settled})
		res.Reason = "nothing to judge: " + err.Error()
	} else {
		defer c.close()
		show := newProgress(stderr, f.json)
		in, err := readServers(ctx, c, show)
		show.done()
		switch {
		case ctx.Err() != nil:
			return fail(exitInterrupted, "interrupted")
		case err != nil:
			return fail(exitInconclusive, "the servers' data could not be read to its end: %s", plainly(err))
		}
		in.Settled = f.settled
		res = scenarios.Audit(settings, in)
	}
	if f.json {
		enc := json.NewEncoder(stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(res); err != nil {
			return err
		}
	} else {
		newPrinter(stdout).audit(res)
	}
	return verdictError(res.Verdict)
}

func (p *printer) audit(res *scenarios.AuditResult) {
	color := map[scenarios.Verdict]int{scenarios.Held: green, scenarios.Violated: red}[res.Verdict]
	if color == 0 {
		color = yellow
	}
	p.line("%s  %s", p.paint(color, strings.ToUpper(string(res.Verdict))), res.Reason)
	var states []string
	for _, s := range slices.Sorted(maps.Keys(res.States)) {
		states = append(states, thousands(res.States[s])+" "+s)
	}
	if len(states) == 0 {
		states = []string{"none"}
	}
	p.line("  jobs: %s; %s, %s", strings.Join(states, ", "), plural(res.Keys, "key"), plural(res.Messages, "message"))
	section(p, "Violated", res.Violations, func(v scenarios.Violation) string { return v.Invariant + ": " + v.Message })
	p.line("\n%s", p.paint(bold, "Invariants"))
	tw := tabwriter.NewWriter(p.w, 0, 8, 2, ' ', 0)
	unseen := 0
	for _, i := range res.Invariants {
		if i.Status == scenarios.StatusNotExercised {
			unseen++
			continue
		}
		fmt.Fprintf(tw, "  %s\t%s\tjudged %s\n", i.Name, i.Status, times(i.Exercised))
	}
	_ = tw.Flush()
	p.line("  %d more had nothing to judge: most need a run's course, which only a world shows.", unseen)
	inPart := slices.DeleteFunc(slices.Clone(res.Invariants), func(i scenarios.AuditedResult) bool {
		return i.Status == scenarios.StatusNotExercised || i.Part == ""
	})
	section(p, "Judged in part", inPart, func(i scenarios.AuditedResult) string { return i.Name + ": " + i.Part })
	if !res.Settled {
		p.line("\n  What must come about in the end was not judged; --settled judges it.")
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return thousands(n) + " times"
}
