package engine

// ReplaySettings are the knobs of dead-letter triage and replay (seed 004).
type ReplaySettings struct{}

func documentedReplay() ReplaySettings { return ReplaySettings{} }

func hardenedReplay() ReplaySettings { return documentedReplay() }
