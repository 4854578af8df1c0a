package main

import (
	"strings"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/routing"
)

// parseTopics reads --topic job.fast=pool-a,pool-b. None is the default mapping.
func parseTopics(list []string) (routing.Config, error) {
	if len(list) == 0 {
		return routing.Config{}, nil
	}
	c := routing.Config{Topics: map[string][]string{}}
	for _, text := range list {
		topic, pools, ok := strings.Cut(text, "=")
		if _, twice := c.Topics[topic]; !ok || pools == "" || twice {
			return c, cli.Fail(cli.ExitUsage, "--topic is %q; give topics, each once, with their pools, as in job.fast=pool-a,pool-b", text)
		}
		c.Topics[topic] = strings.Split(pools, ",")
	}
	if err := c.Validate(); err != nil {
		return c, cli.Fail(cli.ExitUsage, "--topic: %s", cli.FirstLine(err))
	}
	return c, nil
}
