// Package audit judges what real servers hold by those invariants of a run that need no more than that.
package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/scenarios/buildname"
)

// version is the format of what `scheduler audit --json` prints.
const version = 1

// What an audit says of all, or of one invariant.
const (
	Held         = "held"
	Violated     = "violated"
	Unseen       = "not-exercised"
	Inconclusive = "inconclusive"
)

// Result is what real servers, which no world watched, show of the invariants.
type Result struct {
	Version    int            `json:"version"`
	Build      string         `json:"build"`
	Verdict    string         `json:"verdict"`
	Reason     string         `json:"reason"`  // one sentence
	Settled    bool           `json:"settled"` // what must come about in the end was judged, too
	Keys       int            `json:"keys"`    // that were read from Redis
	Messages   int            `json:"messages"`
	States     map[string]int `json:"states"` // records by their state
	Invariants []Invariant    `json:"invariants"`
	Violations []Violation    `json:"violations"`
}

// Invariant is the judgement of one invariant by an audit.
type Invariant struct {
	Name      string `json:"name"`
	Says      string `json:"says"`
	Kind      string `json:"kind"`              // always or eventually
	Promise   string `json:"promise,omitempty"` // the class of faults under which a run promises it, in words
	Status    string `json:"status"`
	Exercised int    `json:"exercised"`      // how often there was something to judge
	Part      string `json:"part,omitempty"` // what was judged of it, where that is not all that it says
}

// Judge judges what real servers hold, after schedulers with these settings. Nothing of in but its
// Config need be left out: that is theirs.
func Judge(settings settings.Settings, in judge.AuditInput) *Result {
	in.Config = judged(settings)
	res := &Result{
		Version: version, Build: buildname.Of(), Settled: in.Settled, Keys: len(in.Redis), Messages: len(in.Streams),
		States: map[string]int{}, Violations: []Violation{},
	}
	for key, fields := range in.Redis {
		if strings.HasPrefix(key, "job:") && fields["state"] != "" {
			res.States[fields["state"]]++
		}
	}
	var broken []string
	held := 0
	for _, o := range judge.Audit(in).Invariants {
		if o.Kind == invariants.Sometimes {
			continue // a situation in a run's course, which nobody saw
		}
		row := Invariant{
			Name: o.Name, Says: o.Says, Kind: string(o.Kind), Promise: o.Promise, Exercised: o.Exercised, Status: Held,
			Part: judge.AuditedPart(o.Name),
		}
		switch {
		case len(o.Violations) > 0:
			row.Status = Violated
			broken = append(broken, o.Name)
		case o.Exercised == 0:
			row.Status = Unseen
		default:
			held++
		}
		for _, v := range o.Violations {
			res.Violations = append(res.Violations, Violation{o.Name, true, v.Job, v.Step, v.At, v.Message})
		}
		res.Invariants = append(res.Invariants, row)
	}
	res.Verdict, res.Reason = Held, fmt.Sprintf("all %d invariants that the servers' data can show hold", held)
	switch {
	case len(broken) > 0:
		res.Verdict, res.Reason = Violated, strings.Join(broken, ", ")+" "+areOrIs(len(broken))+" violated"
	case held == 0:
		res.Verdict, res.Reason = Inconclusive, "the servers hold nothing that could be judged"
	}
	return res
}

// Violation is one way in which an invariant does not hold.
type Violation struct {
	Invariant string        `json:"invariant"`
	Promised  bool          `json:"promised"` // always: an audit knows of no fault that could excuse it
	Job       string        `json:"job,omitempty"`
	Step      int           `json:"step"`
	At        time.Duration `json:"at_ns"`
	Message   string        `json:"message"`
}

// judged is what judging needs to know of the schedulers' settings.
func judged(settings settings.Settings) config.Config {
	c, err := config.Configure(settings)
	if err != nil {
		panic(err) // a test makes one
	}
	c.Replay.Wanted = c.Replay.Enabled
	return c
}

func areOrIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
