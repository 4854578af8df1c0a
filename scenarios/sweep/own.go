package sweep

// OwnNumber is a setting for which users give the number of their own system. It has a flag in `wavetank
// sweep` and a field on the page of a sweep.
type OwnNumber struct {
	Setting string
	Flag    string // without its dashes
	Title   string // of the field
	Usage   string // of the flag, with its value in backquotes
}

// OwnNumbers lists them, in the order of the flags and the fields.
func OwnNumbers() []OwnNumber {
	return []OwnNumber{
		{"engine.worker_ttl", "ttl", "TTL", "after how long without a heartbeat a worker counts as dead, `D`, such as 30s"},
		{"topology.heartbeat_every", "heartbeat", "heartbeats every", "how often a worker says that it lives, `D`, such as 10s"},
		{"world.heartbeat_lag", "lag", "heartbeat lag", "how long a heartbeat is under way, `LAG`: 5s, fixed:5s, uniform:2s:8s, normal:mean=5s:sd=2s,\nlognormal:median=5s:p99=30s (1 % above 30s), samples:1s:2s:9s, or samples:FILE with a duration a line"},
		{"world.dying", "dies", "share that dies", "the share of workers that die, `SHARE`, such as 20%"},
	}
}
