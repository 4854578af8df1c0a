package observe

import "github.com/wavetank-sim/wavetank/invariants/scheduler/model"

// transactionRefused takes in that the server refused the MULTI of a state write.
func (j *Observer) transactionRefused(s *model.Step) {
	if j.Facts.Contended(s) {
		s.Handling.Fencing = s.Phase // whether it tries again shows by what comes next
		return
	}
	j.refused(s, s.Phase)
}

// looked takes in that a state write has looked at what it is to change.
func (j *Observer) looked(s *model.Step) {
	switch {
	case s.Handling == nil || s.Name != "pipeline":
	case j.Facts.Contended(s) && j.Facts.TenantFull(s.About):
		s.Handling.Fencing, s.Handling.Full = "", true
		j.Facts.Reach(model.TenantAtLimit)
	default:
		s.Handling.Fencing = s.Phase
	}
}
