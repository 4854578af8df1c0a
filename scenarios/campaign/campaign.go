package campaign

import "context"

// Run runs the campaign in dir from where it stands, and writes its findings and result.json. When
// ctx is cancelled it stops as soon as the runs under way are over, or 30 s later without them, and
// returns what there is, with Complete false, and no error; the journal lets a later Run go on. What there is
// comes with an error that ended it, too. Of a campaign that is over it returns the result that is there.
func Run(ctx context.Context, dir string, opt Options) (*Result, error) {
	s, err := newSupervisor(ctx, dir, opt.withDefaults())
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.finished != nil {
		if opt.Elsewhere != nil {
			opt.Elsewhere.Over(ctx, jobOf(&s.spec, &s.opt, s.program))
		}
		return s.finished, nil
	}
	if err := s.sendAway(); err != nil && ctx.Err() == nil {
		return nil, err
	}
	res, err := s.run(ctx)
	if s.elsewhere != nil {
		opt.Elsewhere.End(err == nil && res.Complete)
	}
	return res, err
}
