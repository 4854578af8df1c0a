package observe

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
)

// Checker is what an invariant hooks into.
type Checker = model.Checker

// Observer updates the facts, event by event, and calls the checkers' hooks. It is not safe for concurrent
// use.
type Observer struct {
	Facts *model.Facts
	said  []history.Fact // of the present event

	// Arguments of hooks, reused for each event so that observing allocates nothing.
	step       model.Step // the event as it concerns its own job
	about      model.Step // the same, for the job of one change
	write      model.Write
	dispatch   model.Dispatch
	lockChange model.LockChange

	hooks *model.Hooks
}

// NewObserver returns an observer for a run that has not begun.
func NewObserver(cfg config.Config) *Observer {
	f := &model.Facts{
		Config: cfg.WithDefaults(),
		Jobs:   map[string]*model.Job{}, Nodes: map[string]*model.Node{}, Heard: map[model.Replica][]*model.Ear{}, Listens: map[string]model.Listening{},
		Workflow: model.Workflows{Began: time.UnixMilli(0)},
		Policy:   model.NewPolicyFacts(),
	}
	return &Observer{Facts: f, hooks: &f.Hooks}
}

// Hook makes the observer call the checker from now on.
func (o *Observer) Hook(c *Checker) { o.hooks.Add(c) }

// concerning returns a copy of s, for the job of one of its changes.
func (o *Observer) concerning(s *model.Step) *model.Step {
	o.about = *s
	return &o.about
}
