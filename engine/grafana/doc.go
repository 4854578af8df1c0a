// Package grafana has a dashboard of the scheduler, with the panels that its documents ask for.
package grafana

import _ "embed"

// Dashboard is dashboard.json, to be imported into Grafana. Its data source is a Prometheus that has the rules of
// package alerts.
//
//go:embed dashboard.json
var Dashboard []byte
