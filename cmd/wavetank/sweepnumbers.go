package main

import (
	"bufio"
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

// numbers are those of somebody's own system: each a value, or several with commas between them.
type numbers struct{ ttl, heartbeat, lag, dies string }

func (n *numbers) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&n.ttl, "ttl", "", "your numbers: after how long without a heartbeat a worker counts as dead, `D`, such as 30s")
	cmd.Flags().StringVar(&n.heartbeat, "heartbeat", "", "your numbers: how often a worker says that it lives, `D`, such as 10s")
	cmd.Flags().StringVar(&n.lag, "lag", "", "your numbers: how long a heartbeat is under way, `LAG`: 5s, fixed:5s, uniform:2s:8s, normal:mean=5s:sd=2s,\nlognormal:median=5s:p99=30s (1 % above 30s), or samples:FILE with a duration a line")
	cmd.Flags().StringVar(&n.dies, "dies", "", "your numbers: the share of workers that die, `SHARE`, such as 20%")
}

// grids are the numbers that are given, as --grid takes them.
func (n *numbers) grids() (list []string, err error) {
	for _, g := range []struct {
		setting, values string
		read            func(string) (string, error)
	}{
		{"engine.worker_ttl", n.ttl, nil}, {"topology.heartbeat_every", n.heartbeat, nil},
		{"world.heartbeat_lag", n.lag, sampled}, {"world.dying", n.dies, fraction},
	} {
		if g.values == "" {
			continue
		}
		parts := strings.Split(g.values, ",")
		for i, part := range parts {
			if g.read != nil {
				if parts[i], err = g.read(strings.TrimSpace(part)); err != nil {
					return nil, err
				}
			}
		}
		list = append(list, g.setting+"="+strings.Join(parts, ","))
	}
	return list, nil
}

// lay gives the sweep the numbers: as an axis, where it has one or they are several, and else as a setting.
func (n *numbers) lay(d *sweep.Definition, taken []string) error {
	grids, err := n.grids()
	if err != nil {
		return err
	}
	for _, g := range grids {
		setting, values := keyAndValue(g)
		if slices.ContainsFunc(taken, func(t string) bool { name, _ := keyAndValue(t); return name == setting }) {
			return cli.Fail(cli.ExitUsage, "%s is given twice, by its own flag and by --grid or --set; give it once", setting)
		}
		isAxis := slices.ContainsFunc(d.Axes, func(a sweep.Axis) bool { return a.Setting == setting })
		if isAxis || strings.Contains(values, ",") || strings.Contains(values, "..") {
			err = d.Grid([]string{g})
		} else {
			err = d.Set(g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fraction reads a share: 20%, or 0.2.
func fraction(text string) (string, error) {
	percent, ok := strings.CutSuffix(text, "%")
	if !ok {
		return text, nil
	}
	share, ok := new(big.Rat).SetString(strings.TrimSpace(percent))
	if !ok {
		return "", cli.Fail(cli.ExitUsage, "--dies is %.40q, not a share; give one such as 20%% or 0.2", text)
	}
	share.Quo(share, big.NewRat(100, 1))
	digits, _ := share.FloatPrec()
	return share.FloatString(digits), nil
}

// sampled reads the file of a samples:FILE; other lags stay as they are.
func sampled(text string) (string, error) {
	name, ok := strings.CutPrefix(text, "samples:")
	if _, err := time.ParseDuration(strings.SplitN(name, ":", 2)[0]); !ok || err == nil {
		return text, nil
	}
	const wanted = "a file with a duration a line, such as 120ms"
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
		return "", cli.Fail(cli.ExitUsage, "%s has a sample that is %v; give %s", name, err, wanted)
	}
	return string(lag), nil
}
