package campaign

import "context"

// Run continues the campaign in dir, and writes its findings and result.json. When ctx is cancelled, it
// returns once the runs under way are over, or after 30 s without them. The result then has Complete false,
// and err is nil; a later Run continues from the journal. If an error ends the campaign, Run returns the
// result so far with it. For a finished campaign it returns the stored result.
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
