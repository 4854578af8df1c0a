// Package exportcmd is the command `wavetank export`: a stored run for programs that show traces.
package exportcmd

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/reports/export"
)

type flags struct {
	format string
	out    string
}

// New is the command.
func New() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a stored run for Perfetto, or as OpenTelemetry spans",
		Long: `Export reads the folder of a run, and writes its trace in the form of another
program: perfetto for ui.perfetto.dev, which opens the file from disk, or otlp,
a line of JSON for each OpenTelemetry span, as the file exporter of the
OpenTelemetry Collector writes them. Times are virtual. The same run gives the
same bytes.

Exit codes: 0 written, 2 usage or input.`,
		Example: `  wavetank run publish-ack-lost --out runs/a
  wavetank export runs/a
  wavetank export runs/a --format otlp --out spans.jsonl`,
		Args: cli.OneArg("the folder of a run"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.export(args[0], cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "perfetto", "`FORMAT` of the file: perfetto or otlp")
	cmd.Flags().StringVar(&f.out, "out", "", "the `FILE` to write, whose folder is made if it is missing (default "+reports.PerfettoFile+" or "+reports.OTLPFile+" in the run's folder)")
	return cmd
}

func (f *flags) export(dir string, stdout io.Writer) error {
	var name string
	switch f.format {
	case "perfetto":
		name = reports.PerfettoFile
	case "otlp":
		name = reports.OTLPFile
	default:
		return cli.Fail(cli.ExitUsage, "--format is %q; give perfetto or otlp", f.format)
	}
	out := f.out
	if out == "" {
		out = filepath.Join(dir, name)
	} else if filepath.Base(out) != name && slices.Contains(reports.RunFiles, filepath.Base(out)) && cli.SameFolder(filepath.Dir(out), dir) {
		return cli.Fail(cli.ExitUsage, "--out %s would replace a file of the run; give it another name", out)
	}
	if err := cli.Replaceable(out, map[string]string{"perfetto": export.PerfettoBegins, "otlp": export.OTLPBegins}[f.format]); err != nil {
		return err
	}
	stored, err := reports.ReadRun(dir)
	if of := new(reports.FileError); errors.As(err, &of) {
		return cli.Fail(cli.ExitUsage, "%v", of)
	} else if err != nil {
		return err
	}
	trace, err := os.Open(filepath.Join(dir, reports.TraceFile))
	if err != nil {
		return err
	}
	defer trace.Close() // read only: nothing to lose
	err = cli.WriteFile(out, func(w io.Writer) error {
		if f.format == "otlp" {
			return export.OTLP(w, stored.Plan, stored.Run, reports.Trace(trace))
		}
		return export.Perfetto(w, stored.Plan, stored.Run, reports.Trace(trace))
	})
	if err != nil {
		return err
	}
	say := cli.NewPrinter(stdout)
	say.Line("Written: %s", out)
	if f.format == "perfetto" {
		say.Line("Open it at https://ui.perfetto.dev (Open trace file); it stays on this machine.")
	}
	return nil
}
