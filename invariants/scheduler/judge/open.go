package judge

// Open says, a sentence each, what is still to come besides the jobs themselves, as far as the servers
// tell: compensations of a rollback that is due, runs that are not over. It is empty once nothing is.
func (j *observer) Open() (list []string) {
	for _, open := range []func(*facts) []string{openSagas, openScans, (*facts).liveRuns, replayOpen} {
		list = append(list, open(j.facts)...)
	}
	return list
}
