package model

// Open says, a sentence each, what is still to come besides the jobs themselves, as far as the servers
// tell: compensations of a rollback that is due, runs that are not over. It is empty once nothing is.
func (j *Observer) Open() (list []string) {
	for _, open := range []func(*Facts) []string{openSagas, openScans, (*Facts).liveRuns, replayOpen} {
		list = append(list, open(j.Facts)...)
	}
	return list
}
