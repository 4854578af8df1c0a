package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// Bounds of a budget.
const (
	budgetRunsMax = 1_000_000_000
	budgetTimeMax = 30 * 24 * time.Hour
)

// budget is how much a campaign may do: runs or real time, the other is 0.
type budget struct {
	runs int
	time time.Duration
}

// overlong matches a time that is longer than a time.Duration can be, if that cannot be read.
var overlong = regexp.MustCompile(`^[0-9]+(s|m|h)$`)

// parseBudget reads 60s, 2h, 10000runs or 10000 runs.
func parseBudget(text string) (budget, error) {
	bad := func(why string) (budget, error) {
		return budget{}, cli.Fail(cli.ExitUsage, "--budget is %.60q, %s; give a time such as 60s or 1h, or runs such as 10000runs", text, why)
	}
	if digits, ok := strings.CutSuffix(text, "runs"); ok {
		n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(digits), "_", ""))
		switch {
		case errors.Is(err, strconv.ErrRange), err == nil && (n < 1 || n > budgetRunsMax):
			return bad(fmt.Sprintf("out of range (1 to %d runs)", budgetRunsMax))
		case err != nil:
			return bad("not a number of runs")
		}
		return budget{runs: n}, nil
	}
	d, err := time.ParseDuration(text)
	switch _, number := strconv.Atoi(text); {
	case number == nil:
		return bad("neither runs nor a time")
	case err != nil && !overlong.MatchString(text):
		return bad("not a time")
	case d < time.Second || d > budgetTimeMax:
		return bad("out of range (1s to 720h)")
	}
	return budget{time: d}, nil
}
