package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// planFlags are the flags that change a plan.
type planFlags struct {
	presets []string // all that were given, to refuse those that differ
	sets    []string
	judge   []string // invariants, of the commands that have the flag
	redis   string   // the program of a redis-server; empty is miniredis, or what the plan says
}

func (f *planFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.presets, "preset", nil, "settings of the engine and its servers to start from, `NAME`: documented or hardened (default the plan's)")
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "change one setting, `key=value`; repeatable (see list settings)")
	cmd.Flags().Var((*program)(&f.redis), "redis-server", "run over a redis-server, the program `PATH` (after a =), in place of miniredis")
	cmd.Flags().Lookup("redis-server").NoOptDefVal = scenarios.RedisProgram()
	cmd.Args = noPathOfRedis(cmd.Args)
	_ = cmd.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions([]string{plans.PresetDocumented, plans.PresetHardened}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("set", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var keys []string
		for _, s := range plans.Settings() {
			if s.Name != "preset" { // it has a flag of its own
				keys = append(keys, assignment(s))
			}
		}
		return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// noPathOfRedis refuses an argument that is the path of --redis-server, before check looks at the arguments; check may be nil.
func noPathOfRedis(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for _, arg := range args {
			if _, err := exec.LookPath(arg); err == nil && cmd.Flags().Changed("redis-server") && !slices.Contains(plans.Names(), arg) {
				return cli.Usage(cmd, "--redis-server takes its path after a =: write --redis-server=%s", arg)
			}
		}
		if check == nil {
			return nil
		}
		return check(cmd, args)
	}
}

// program is the value of a flag that names one.
type program string

func (p *program) String() string { return string(*p) }
func (p *program) Type() string   { return "string" }

func (p *program) Set(name string) error {
	if name == "" {
		return errors.New("it names no program")
	}
	*p = program(name)
	return nil
}

// subject is a plan as the command line changed it.
type subject struct {
	*plans.Plan
	source    string   // what the user typed
	overrides []string // as a result has them
	variant   string   // tells the folder of a changed or unnamed plan from the named one's; empty for the latter
}

// printChanges says every setting that is not its default, and what the safety kernel goes by.
func (s *subject) printChanges(p *cli.Printer) {
	for _, change := range s.Changes() {
		if k := &s.Kernel; k.Rules != nil || k.Output != nil || k.Then != nil { // which no setting shows
			change = strings.Replace(change, "kernel.default="+k.Default, reports.KernelWords(k), 1)
		}
		p.Line("  %s", change)
	}
}

// seedFlag is --seed.
type seedFlag struct {
	n     uint64
	given bool
}

func (s *seedFlag) Type() string { return "seed" }

func (s *seedFlag) String() string {
	if s.n == 0 && !s.given {
		return ""
	}
	return strconv.FormatUint(s.n, 10)
}

func (s *seedFlag) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil:
		return errors.New("give an integer from 0 to 18446744073709551615")
	case s.given && n != s.n:
		return fmt.Errorf("the seed is given twice, and was %d before: give one", s.n)
	}
	s.n, s.given = n, true
	return nil
}

// load reads the plan that arg names, and changes it. Without a seed it has its own.
func (f *planFlags) load(arg string, seed *seedFlag) (*subject, error) {
	plan, err := plans.Load(arg)
	if err != nil {
		return nil, err
	}
	if err := f.useRedis(); err != nil {
		return nil, err
	}
	s := &subject{Plan: plan, source: arg}
	before, err := plans.Marshal(plan)
	if err != nil {
		return nil, err
	}
	sets := f.overrides()
	for _, o := range sets {
		if err := plan.Vary(o); err != nil {
			return nil, err
		}
	}
	if err := f.consistent(); err != nil {
		return nil, err
	}
	s.overrides = sets
	for _, name := range f.judge {
		if err := checkJudge(name); err != nil {
			return nil, err
		}
		if !slices.Contains(plan.Expect.Judged, name) {
			plan.Expect.Judged = append(plan.Expect.Judged, name)
			s.overrides = append(s.overrides, "judge="+name)
		}
	}
	after, err := plans.Marshal(plan)
	if err != nil {
		return nil, err
	}
	if plan.World.Redis == plans.RedisServer {
		if err := hasRedis(); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(before, after) || !slices.Contains(plans.Names(), arg) {
		h := fnv.New32a()
		_, _ = h.Write(after)
		s.variant = fmt.Sprintf("-%08x", h.Sum32())
	}
	if seed != nil && seed.given {
		plan.Seed = seed.n
	}
	return s, nil
}

// addJudge adds the flag by which what a run is judged by is changed.
func (f *planFlags) addJudge(cmd *cobra.Command, says string) {
	cmd.Flags().StringArrayVar(&f.judge, "judge", nil, says)
	_ = cmd.RegisterFlagCompletionFunc("judge", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return plans.Violable(), cobra.ShellCompDirectiveNoFileComp
	})
}

// overrides are the changes, as [plans.Plan.Set] takes them.
func (f *planFlags) overrides() []string {
	var list []string
	for _, p := range f.presets {
		list = append(list, "preset="+p)
	}
	return append(list, f.settings()...)
}

// settings are the changes but for the presets.
func (f *planFlags) settings() []string {
	if f.redis == "" {
		return f.sets
	}
	return append([]string{"world.redis=" + plans.RedisServer}, f.sets...)
}

// useRedis makes the program that --redis-server names that of this process and of those that it starts.
func (f *planFlags) useRedis() error {
	if f.redis == "" {
		return nil
	}
	if err := os.Setenv(scenarios.RedisVariable, f.redis); err != nil {
		return err
	}
	return hasRedis()
}

// goesOn takes the program for what was begun, over a redis-server or not.
func (f *planFlags) goesOn(overServer bool) error {
	switch {
	case overServer:
		if f.redis == "" {
			return hasRedis()
		}
		return f.useRedis()
	case f.redis != "":
		return cli.Fail(cli.ExitUsage, "the campaign was begun over miniredis; leave --redis-server out")
	}
	return nil
}

// hasRedis refuses a plan over a redis-server where there is none.
func hasRedis() error {
	err := sim.CheckRedisServer(scenarios.RedisProgram())
	if err == nil {
		return nil
	}
	says := "the plan runs over a redis-server: " + strings.TrimPrefix(err.Error(), sim.ErrNoRedisServer.Error()+": ")
	if folder := new(fs.PathError); !errors.As(err, &folder) {
		says += "; install Redis, or name one: --redis-server=PATH, or the environment variable " + scenarios.RedisVariable
	}
	return cli.Fail(cli.ExitUsage, "%s", says)
}

// consistent refuses a seed or a preset that is given as a setting, and what is given twice.
func (f *planFlags) consistent() error { return errors.Join(f.noFlags(), once(f.overrides())) }

// noFlags refuses settings that have a flag of their own.
func (f *planFlags) noFlags() error {
	for _, set := range f.sets {
		if key, value := keyAndValue(set); key == "seed" || key == "preset" {
			return cli.Fail(cli.ExitUsage, "the %s has its own flag; write --%[1]s %s", key, value)
		}
	}
	return nil
}

// once refuses changes of one setting to two values.
func once(overrides []string) error {
	given := map[string]string{}
	for _, o := range overrides {
		key, value := keyAndValue(o)
		if before, twice := given[key]; twice && before != value {
			if key == "preset" {
				key = "the preset"
			}
			return cli.Fail(cli.ExitUsage, "%s is given twice, as %s and as %s; give one", key, before, value)
		}
		given[key] = value
	}
	return nil
}

func keyAndValue(override string) (key, value string) {
	_, value, _ = strings.Cut(override, "=")
	return plans.NameOf(override), strings.TrimSpace(value)
}

// assignment sets s, to its default where that can be written, as --set takes it.
func assignment(s plans.Setting) string {
	if job, ok := strings.CutSuffix(s.Name, ".N"); ok {
		return job + ".3=" + s.Example
	}
	return s.Name + "=" + s.Default
}

// completeScenarios completes the name of a scenario, or a file.
func completeScenarios(more ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return append(plans.Names(), more...), cobra.ShellCompDirectiveDefault
	}
}

// checkJudge refuses what --judge cannot take.
func checkJudge(name string) error { return checkInvariant("--judge", name) }

// checkInvariant refuses a flag's value that is no invariant which can be broken.
func checkInvariant(flag, name string) error {
	names := plans.Violable()
	switch _, known := judge.Find(name); {
	case slices.Contains(names, name):
		return nil
	case known:
		return cli.Fail(cli.ExitUsage, "%s is %q, a situation, which a run reaches and cannot break; `wavetank list invariants` names the invariants that a run can break", flag, name)
	}
	return cli.Fail(cli.ExitUsage, "%s is %q, not an invariant; `wavetank list invariants` names them%s", flag, name, suggest.Hint(name, names))
}
