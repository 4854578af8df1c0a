package main

import (
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/wavetank-sim/wavetank/engine/alerts"
)

// An alert is a rule of engine/alerts/alerts.yaml that may fire.
type alert struct {
	Name        string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations struct {
		Description string `yaml:"description"`
	} `yaml:"annotations"`
}

// firesIn has a scenario in which each alert fires.
var firesIn = map[string]string{
	"SchedulerCircuitOpen": "breaker-storm", "SchedulerDLQGrowth": "dlq-growth-without-replay", "SchedulerFailClosedStreak": "fail-closed-idle-replica",
	"SchedulerJobsTimedOut": "rollback-failure", "SchedulerReplaysDenied": "replay-denied", "SchedulerRollbackFailed": "rollback-failure",
}

// alertsOf are the alerts of a file of rules.
func alertsOf(rules []byte) (list []alert) {
	var file struct {
		Groups []struct{ Rules []alert }
	}
	if err := yaml.Unmarshal(rules, &file); err != nil {
		panic(err) // the file is part of the program
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Name != "" {
				list = append(list, r)
			}
		}
	}
	return list
}

func explainAlert(a alert) string {
	return fmt.Sprintf("%s (alert, %s)\n\n%s\nFires: %s\n\n`scheduler alerts` prints the rules for Prometheus.\n\nSee it fire: make alerts SCENARIO=%s",
		a.Name, a.Labels["severity"], a.Annotations.Description, a.Expr, firesIn[a.Name])
}

func alertTopics() (list []topic) {
	for _, a := range alertsOf(alerts.Rules) {
		list = append(list, topic{name: a.Name, text: func() string { return explainAlert(a) }})
	}
	return list
}
