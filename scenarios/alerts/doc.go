// Package alerts evaluates the scheduler's alerting rules over what was scraped in a run, at each scrape, by
// Prometheus's own packages, as `promtool test rules` does. Those are heavy, so that only who evaluates rules imports
// this: a run records samples (package samples), and knows no rule.
//
// Its files, each of which calls only those after it:
//
//	promtool.go  a recording as a test for promtool
//	evaluate.go  the rules at each scrape
package alerts
