package scenarios

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/invariants"
)

// AuditVersion is the format of what `wavetank audit --json` prints.
const AuditVersion = 1

// AuditResult is what real servers, which no world watched, show of the invariants.
type AuditResult struct {
	Version    int             `json:"version"`
	Build      string          `json:"build"`
	Verdict    Verdict         `json:"verdict"`
	Reason     string          `json:"reason"`  // one sentence
	Settled    bool            `json:"settled"` // what must come about in the end was judged, too
	Keys       int             `json:"keys"`    // that were read from Redis
	Messages   int             `json:"messages"`
	States     map[string]int  `json:"states"` // records by their state
	Invariants []AuditedResult `json:"invariants"`
	Violations []Violation     `json:"violations"`
}

// AuditedResult is the judgement of one invariant by an audit.
type AuditedResult struct {
	InvariantResult
	Part string `json:"part,omitempty"` // what was judged of it, where that is not all that it says
}

// Audit judges what real servers hold, after schedulers with these settings. Nothing of in but its
// Config need be left out: that is theirs.
func Audit(settings engine.Settings, in invariants.AuditInput) *AuditResult {
	in.Config = judgeConfig(&Plan{Engine: settings})
	res := &AuditResult{
		Version: AuditVersion, Build: Build(), Settled: in.Settled, Keys: len(in.Redis), Messages: len(in.Streams),
		States: map[string]int{}, Violations: []Violation{},
	}
	for key, fields := range in.Redis {
		if strings.HasPrefix(key, "job:") && fields["state"] != "" {
			res.States[fields["state"]]++
		}
	}
	var broken []string
	held := 0
	for _, o := range invariants.Audit(in).Invariants {
		if o.Kind == invariants.Sometimes {
			continue // a situation in a run's course, which nobody saw
		}
		row := AuditedResult{
			InvariantResult{Name: o.Name, Says: o.Says, Kind: string(o.Kind), Promise: o.Promise, Exercised: o.Exercised, Status: StatusHeld},
			invariants.AuditedPart(o.Name),
		}
		switch {
		case len(o.Violations) > 0:
			row.Status = StatusViolated
			broken = append(broken, o.Name)
		case o.Exercised == 0:
			row.Status = StatusNotExercised
		default:
			held++
		}
		for _, v := range o.Violations {
			res.Violations = append(res.Violations, Violation{o.Name, true, v.Job, v.Step, v.At, v.Message, v.Steps})
		}
		res.Invariants = append(res.Invariants, row)
	}
	res.Verdict, res.Reason = Held, fmt.Sprintf("all %d invariants that the servers' data can show hold", held)
	switch {
	case len(broken) > 0:
		res.Verdict, res.Reason = Violated, strings.Join(broken, ", ")+" "+isAre(len(broken))+" violated"
	case held == 0:
		res.Verdict, res.Reason = Inconclusive, "the servers hold nothing that could be judged"
	}
	return res
}
