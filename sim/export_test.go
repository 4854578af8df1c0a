package sim

// Commands names the commands that a world runs.
func Commands() []string { return sortedKeys(commands) }
