package model

// finality says whether the worker reported a job's failure as final.
type finality uint8

const (
	inDoubt  finality = iota // the job has not failed yet, or results of both kinds may have ended it
	notFinal                 // its worker did not, or something else ended it
	isFinal
)

// final says whether the job's worker reported its failure as final. The worker's result shows it; the dead
// letter counts only if results do not show it.
func (j *Job) final(said bool) bool {
	if j.Replay.final == inDoubt {
		return said && j.Saga.Fatal
	}
	return j.Replay.final == isFinal
}

// CalledFinal says whether the job's worker called its failure final, if its results tell for sure.
func (j *Job) CalledFinal() (final, sure bool) {
	return j.Replay.final == isFinal, j.Replay.final != inDoubt
}

// FailureWritten notes by which results a write of FAILED may have been made.
func (f *Facts) FailureWritten(s *Step) {
	j := s.About
	if j.State != Failed || s.Rewinds() {
		return
	}
	fatal, other := false, true
	if s.Phase == "result_write" {
		fatal, other = j.failures(s)
	}
	switch {
	case fatal && other:
		j.Replay.final = inDoubt
	case fatal:
		j.Replay.final = isFinal
	default:
		j.Replay.final = notFinal
	}
	if l := f.Replay.Letters[j.ID]; l != nil {
		l.Fatal = j.final(l.saysFatal)
	}
}
