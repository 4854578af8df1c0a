package observe

// transactionRefused takes in that the server refused the MULTI of a state write.
func (j *Observer) transactionRefused(s *Step) {
	if j.Facts.contended(s) {
		s.Handling.fencing = s.Phase // whether it tries again shows by what comes next
		return
	}
	j.refused(s, s.Phase)
}

// looked takes in that a state write has looked at what it is to change.
func (j *Observer) looked(s *Step) {
	switch {
	case s.Handling == nil || s.Name != "pipeline":
	case j.Facts.contended(s) && j.Facts.tenantFull(s.About):
		s.Handling.fencing, s.Handling.Full = "", true
		j.Facts.Reach(TenantAtLimit)
	default:
		s.Handling.fencing = s.Phase
	}
}
