package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wavetank-sim/wavetank/faults/suggest"
)

// Complete gives a program's root command what the roots of all have: errors that report prints, suggestions for an
// unknown command, help and completion.
func Complete(root *cobra.Command) *cobra.Command {
	root.SilenceErrors, root.SilenceUsage = true, true
	Group(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return Usage(cmd, "%s", flagProblem(cmd, err)) })
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := root.Find(args)
			switch {
			case err != nil:
				return unknown(root, args[0])
			case len(rest) > 0 && target.HasAvailableSubCommands():
				return unknown(target, rest[0])
			case len(rest) > 0:
				return Usage(root, "%s has no commands below it, and so no %q", target.Name(), rest[0])
			}
			if target.DisableFlagParsing { // it only says where it has gone
				return target.RunE(target, nil)
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	})
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	completeFiles(root)
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		strict(completion)
	}
	return root
}

// completeFiles completes files for the arguments and flags whose help calls their value FILE or DIR.
func completeFiles(cmd *cobra.Command) {
	if strings.Contains(cmd.Use, "FILE") {
		cmd.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch value, _ := pflag.UnquoteUsage(f); value {
		case "FILE":
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
		case "DIR":
			_ = cmd.MarkFlagDirname(f.Name)
		}
	})
	for _, c := range cmd.Commands() {
		completeFiles(c)
	}
}

// Group makes cmd one that has only others below it: by itself it shows its help.
func Group(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknown(cmd, args[0])
	}
}

// unknown is the error of a command that cmd does not have below it.
func unknown(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	full := strings.TrimPrefix(cmd.CommandPath()+" "+name, cmd.Root().CommandPath()+" ")
	return Usage(cmd, "unknown command %q%s", full, suggest.Hint(name, names))
}

// strict lets cobra's own completion command refuse what the others refuse.
func strict(completion *cobra.Command) {
	var shells []string
	for _, shell := range completion.Commands() {
		shell.Args = NoArgs
		shells = append(shells, shell.Name())
	}
	completion.Args = OneArg("the shell (" + strings.Join(shells, ", ") + ")")
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		return Usage(cmd, "no completion for %q%s", args[0], suggest.Hint(args[0], shells))
	}
}

// OneArg wants exactly one argument, which the error calls what.
func OneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return Usage(cmd, "%s: %s is missing", cmd.Name(), what)
		}
		return Usage(cmd, "%s takes one %s, not %d: %s", cmd.Name(), strings.TrimPrefix(what, "the "), len(args), strings.Join(args, " "))
	}
}

// NoArgs wants none.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage(cmd, "%s takes no arguments: %s", cmd.Name(), strings.Join(args, " "))
	}
	return nil
}
