package settings

import "time"

// Replay are the knobs of dead-letter triage and replay (Dead letters). It ticks every poll_interval,
// as the reconciler does.
type Replay struct {
	Enabled      bool          `yaml:"enabled" json:"enabled" doc:"triage dead letters, and replay those that may be (Dead letters)"`
	MaxReplays   int           `yaml:"max_replays" json:"max_replays" min:"1" max:"10" doc:"how many replays one job may have in all, where no rule of the triage policy says how many"`
	BackoffBase  time.Duration `yaml:"backoff_base" json:"backoff_base" min:"1ms" max:"24h" doc:"back-off before the first replay of a job, which doubles with each replay; also the most jitter that is added to each back-off (Dead letters, exponential_jitter)"`
	BackoffMax   time.Duration `yaml:"backoff_max" json:"backoff_max" min:"1ms" max:"720h" doc:"longest back-off before a replay"`
	GrowthAlert  int           `yaml:"growth_alert" json:"growth_alert" min:"1" max:"1000000" doc:"the growth alert is raised by more new entries than this within growth_window (Dead letters, next step 3)"`
	GrowthWindow time.Duration `yaml:"growth_window" json:"growth_window" min:"1s" max:"720h" doc:"the time within which entries count as new for growth_alert"`

	// Parts of the documented design that can be taken away, to see what they are for.
	Triage         bool `yaml:"triage" json:"triage" doc:"go by the triage policy and the classes of reason codes; otherwise every entry is replayed (Dead letters, failure triage model)"`
	KeepKey        bool `yaml:"keep_key" json:"keep_key" doc:"a replay has the idempotency key of its original (Dead letters)"`
	CheckCommitted bool `yaml:"check_committed" json:"check_committed" doc:"do not replay a job that has had its effect after all, as cordum:committed:<tenant>:<key> says (Dead letters, AlreadyCommitted)"`
	CheckPolicy    bool `yaml:"check_policy" json:"check_policy" doc:"the safety kernel decides anew on each replay; otherwise the decision on the original stands (Dead letters, policy re-evaluation)"`
	Atomic         bool `yaml:"atomic" json:"atomic" doc:"a replay is stored in the MULTI that updates its entry, under an id that is derived from the entry; otherwise the replay is submitted first, under a drawn id"`
	CarryCount     bool `yaml:"carry_count" json:"carry_count" doc:"a replay that fails counts towards the max_replays of its original"`
}

func documentedReplay() Replay {
	return Replay{
		MaxReplays:   3,
		BackoffBase:  10 * time.Second,
		BackoffMax:   10 * time.Minute,
		GrowthAlert:  20,
		GrowthWindow: 10 * time.Minute,

		Triage: true, KeepKey: true, CheckCommitted: true, CheckPolicy: true, Atomic: true, CarryCount: true,
	}
}
