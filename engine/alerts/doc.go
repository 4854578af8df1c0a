// Package alerts has the rules by which Prometheus alerts about the scheduler, as its documents ask for.
package alerts

import _ "embed"

// Rules is alerts.yaml, a file of rules for Prometheus.
//
//go:embed alerts.yaml
var Rules []byte
