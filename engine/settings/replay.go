package settings

import "time"

// Replay are the knobs of dead-letter triage and replay (Dead letters). It ticks every poll_interval,
// as the reconciler does.
type Replay struct {
	Enabled      bool          `yaml:"enabled" json:"enabled" doc:"triage dead letters, and replay those that may be (Dead letters)"`
	MaxReplays   int           `yaml:"max_replays" json:"max_replays" min:"1" max:"10" doc:"replays of one job, over all of them, where no rule of the triage policy says how many"`
	BackoffBase  time.Duration `yaml:"backoff_base" json:"backoff_base" min:"1ms" max:"24h" doc:"back-off before the first replay of a job, and the most that chance adds to each; it doubles with each (Dead letters, exponential_jitter)"`
	BackoffMax   time.Duration `yaml:"backoff_max" json:"backoff_max" min:"1ms" max:"720h" doc:"longest back-off before a replay"`
	GrowthAlert  int           `yaml:"growth_alert" json:"growth_alert" min:"1" max:"1000000" doc:"more new entries than this within growth_window raise the growth alert (Dead letters, next step 3)"`
	GrowthWindow time.Duration `yaml:"growth_window" json:"growth_window" min:"1s" max:"720h" doc:"the time within which entries count as new for growth_alert"`

	// Parts of the documented design that can be taken away, to see what they are for.
	Triage         bool `yaml:"triage" json:"triage" doc:"go by the triage policy, and the classes of reason codes; without, every entry is replayed (Dead letters, failure triage model)"`
	KeepKey        bool `yaml:"keep_key" json:"keep_key" doc:"a replay has the idempotency key of its original (Dead letters)"`
	CheckCommitted bool `yaml:"check_committed" json:"check_committed" doc:"do not replay what has been done after all, by cordum:committed:<tenant>:<key> (Dead letters, AlreadyCommitted)"`
	CheckPolicy    bool `yaml:"check_policy" json:"check_policy" doc:"the safety kernel decides anew on each replay; without, the original's decision stands (Dead letters, policy re-evaluation)"`
	Atomic         bool `yaml:"atomic" json:"atomic" doc:"a replay is stored in the MULTI of its entry's update, under an id that follows from it; without, it is submitted first, under a drawn id"`
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
