package model

// finality is whether the worker called a job's failure final.
type finality uint8

const (
	inDoubt  finality = iota // the job has not failed yet, or there were results of both kinds to end it
	notFinal                 // its worker did not, or something else ended it
	isFinal
)

// final says whether the job's worker called its failure final. Its result tells; the dead letter does only where results do not.
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

// FailureWritten takes in which results a write of FAILED may go by.
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
