package servers

import (
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// LogFlags say how a process that stays logs to standard error.
type LogFlags struct {
	format string
	level  string
}

// Add adds the flags to a command.
func (f *LogFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "log-format", "text", "`FORMAT` of the log on standard error: text or json")
	cmd.Flags().StringVar(&f.level, "log-level", "info", "log messages of this `LEVEL` and above: debug, info, warn or error")
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
}

// Logger makes the log, or refuses flags that make no sense.
func (f *LogFlags) Logger(stderr io.Writer) (*slog.Logger, error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[f.level]
	if !ok {
		return nil, cli.Fail(cli.ExitUsage, "--log-level is %q; one of debug, info, warn, error", f.level)
	}
	opt := &slog.HandlerOptions{Level: level, ReplaceAttr: plainError}
	switch f.format {
	case "text":
		return slog.New(newQuietHandler(slog.NewTextHandler(stderr, opt))), nil
	case "json":
		return slog.New(newQuietHandler(slog.NewJSONHandler(stderr, opt))), nil
	}
	return nil, cli.Fail(cli.ExitUsage, "--log-format is %q; one of text, json", f.format)
}

// plainError puts an error into plain words, whoever logs it.
func plainError(_ []string, a slog.Attr) slog.Attr {
	if a.Key != "error" || a.Value.Kind() != slog.KindAny {
		return a
	}
	switch err := a.Value.Any().(type) {
	case nil:
		return slog.Attr{} // there is none to name
	case error:
		return slog.String(a.Key, Plainly(err))
	}
	return a
}
