package observe

import "github.com/wavetank-sim/wavetank/invariants/scheduler/model"

// transactionRefused takes in that the server refused the MULTI of a state write.
func (o *Observer) transactionRefused(s *model.Step) {
	if o.Facts.Contended(s) {
		s.Handling.Fencing = s.Phase // whether it tries again shows by what comes next
		return
	}
	o.refused(s, s.Phase)
}

// looked takes in that a state write has looked at what it is to change.
func (o *Observer) looked(s *model.Step) {
	switch {
	case s.Handling == nil || s.Name != "pipeline":
	case o.Facts.Contended(s) && o.Facts.TenantFull(s.About):
		s.Handling.Fencing, s.Handling.Full = "", true
		o.Facts.Reach(model.TenantAtLimit)
	default:
		s.Handling.Fencing = s.Phase
	}
}
