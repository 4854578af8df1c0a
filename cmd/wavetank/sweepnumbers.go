package main

import (
	"bufio"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// numbers are those of somebody's own system, one for each of [sweep.OwnNumbers]: empty, a value, or several with commas
// between them.
type numbers []string

func (n *numbers) add(cmd *cobra.Command) {
	list := sweep.OwnNumbers()
	*n = make(numbers, len(list))
	for i, own := range list {
		cmd.Flags().StringVar(&(*n)[i], own.Flag, "", "your numbers: "+own.Usage)
	}
}

// given says whether there is any.
func (n numbers) given() bool {
	return slices.ContainsFunc(n, func(values string) bool { return values != "" })
}

// lay gives the sweep the numbers: as an axis, where it has one or they are several, and else as a setting.
func (n numbers) lay(d *sweep.Definition, taken []string) (err error) {
	for i, own := range sweep.OwnNumbers() {
		if n[i] == "" {
			continue
		}
		if slices.ContainsFunc(taken, func(t string) bool { name, _ := keyAndValue(t); return name == own.Setting }) {
			return cli.Fail(cli.ExitUsage, "%s is given twice, by --%s and by --grid or --set; give it once", own.Setting, own.Flag)
		}
		parts := strings.Split(n[i], ",")
		for j, part := range parts {
			if parts[j], err = read(own.Flag, strings.TrimSpace(part)); err != nil {
				return err
			}
		}
		values := strings.Join(parts, ",")
		isAxis := slices.ContainsFunc(d.Axes, func(a sweep.Axis) bool { return a.Setting == own.Setting })
		if isAxis || strings.Contains(values, ",") || strings.Contains(values, "..") {
			err = d.Grid([]string{own.Setting + "=" + values})
		} else {
			err = d.Set(own.Setting + "=" + values)
		}
		if err != nil {
			return fmt.Errorf("--%s %s: %w; see `wavetank sweep --help`", own.Flag, n[i], err)
		}
	}
	return nil
}

// read makes a setting's value of a flag's: of a percentage a share, and of samples:FILE the samples in it.
func read(flag, text string) (string, error) {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		share, ok := new(big.Rat).SetString(strings.TrimSpace(percent))
		if !ok || share.Sign() < 0 || share.Cmp(big.NewRat(100, 1)) > 0 {
			return "", cli.Fail(cli.ExitUsage, "--%s is %.40q, not a share; give one from 0%% to 100%%, such as 20%% or 0.2", flag, text)
		}
		share.Quo(share, big.NewRat(100, 1))
		digits, _ := share.FloatPrec()
		return share.FloatString(digits), nil
	}
	name, ok := strings.CutPrefix(text, "samples:")
	if _, err := time.ParseDuration(strings.SplitN(name, ":", 2)[0]); !ok || err == nil {
		return text, nil // the samples themselves, or another lag
	}
	return sampled(name)
}

// sampled makes a lag of the file of a samples:FILE.
func sampled(name string) (string, error) {
	const wanted = "a file with one duration a line, such as 120ms"
	data, err := strictyaml.ReadFile(name, wanted)
	if err != nil {
		return "", err
	}
	var list []time.Duration
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		d, err := time.ParseDuration(line)
		if err != nil || d < 0 {
			return "", cli.Fail(cli.ExitUsage, "%s:%d: %.40q is not a duration; give %s", name, n, line, wanted)
		}
		list = append(list, d)
	}
	if err := lines.Err(); err != nil {
		return "", cli.Fail(cli.ExitUsage, "%s cannot be read: %v; give %s", name, err, wanted)
	}
	if len(list) == 0 {
		return "", cli.Fail(cli.ExitUsage, "%s has no samples; give %s", name, wanted)
	}
	lag, err := plans.SampledLag(list)
	if err != nil {
		return "", cli.Fail(cli.ExitUsage, "%s has a sample of %v; give %s", name, err, wanted)
	}
	return string(lag), nil
}
