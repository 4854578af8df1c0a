package exhaust

import (
	"context"
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Site is an operation that a run makes, as a fault names it.
type Site struct {
	Phase      string        `json:"phase"`
	Job        int           `json:"job,omitempty"` // 0: it is about no job
	Occurrence int           `json:"occurrence"`    // of that phase and job, or of that phase on the node, from 1
	Node       string        `json:"node"`          // that made it
	At         time.Duration `json:"at_ns"`         // when it was made, where no fault struck
}

func (s *Site) match() *faults.Match {
	m := &faults.Match{Job: s.Job, Phase: s.Phase, Occurrence: s.Occurrence}
	if s.Job == 0 {
		m.Node = s.Node
	}
	return m
}

func (s Site) String() string {
	if s.Job == 0 {
		return fmt.Sprintf("%s %d", s.Phase, s.Occurrence)
	}
	return fmt.Sprintf("%s %d of job %d", s.Phase, s.Occurrence, s.Job)
}

// sitesOf runs the plan and lists its operations in the order in which they are made. apart counts those of jobs that no
// fault can name.
func sitesOf(ctx context.Context, p *plans.Plan, phases map[string]faults.Phase) (sites []Site, apart int, res *scenarios.Result, err error) {
	seen := map[faults.Match]bool{}
	res, err = scenarios.Run(ctx, p, scenarios.RunOptions{Source: p.Name, Modified: true, Drawn: true, Survey: func(op faults.Operation) {
		phase, known := phases[op.Phase]
		if !known {
			return
		}
		site := Site{Phase: op.Phase, Occurrence: op.OnNode, Node: op.Node, At: op.At}
		if !phase.NoJob {
			site.Occurrence = op.Occurrence
			var numbered bool
			if site.Job, numbered = plans.JobNumber(op.Job); !numbered {
				apart++
				return
			}
		}
		if m := *site.match(); !seen[m] {
			seen[m] = true
			sites = append(sites, site)
		}
	}})
	return sites, apart, res, err
}
