package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/promises"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// witness shows that a release is rightly in the promise matrix: a kind of strike in one exception, a setting that a promise
// takes, or a gap. Its plan breaks the invariant by that alone, and does not without it.
type witness struct {
	Invariant string `yaml:"invariant"`
	Strike    string `yaml:"strike,omitempty"`
	Without   string `yaml:"without,omitempty"` // what closes the exception; "" where nothing does
	Takes     string `yaml:"takes,omitempty"`   // the setting
	Gap       string `yaml:"gap,omitempty"`     // under what
	Plan      string `yaml:"plan"`              // in testdata/witnesses
}

type exception = invariants.Exception[config.Config]

const (
	witnessFile  = "testdata/witnesses.yaml"
	witnessPlans = "testdata/witnesses"
)

func (w witness) String() string {
	text := w.Invariant
	for _, part := range [][2]string{{" under ", w.Strike + w.Gap}, {" without ", w.Without + w.Takes}} {
		if part[1] != "" {
			text += part[0] + part[1]
		}
	}
	return text
}

// releases are those of the promise matrix: witnesses without their plans.
func releases(t *testing.T) map[witness]bool {
	open := map[witness]bool{}
	for name, row := range promises.Matrix {
		for _, m := range row.Takes {
			for _, s := range m.Settings {
				open[witness{Invariant: name, Takes: s.Name}] = true
			}
		}
		if row.Open.Under != "" {
			open[witness{Invariant: name, Gap: row.Open.Under}] = true
		}
		for _, e := range row.Except {
			for _, k := range history.Strikes.List(e.By) {
				w := witness{Invariant: name, Strike: k.String(), Without: without(e)}
				require.False(t, open[w], "%s is there twice", w)
				open[w] = true
			}
		}
	}
	return open
}

// without names an exception by the mechanisms that close it.
func without(e exception) string {
	var names []string
	for _, m := range e.But {
		names = append(names, cmp.Or(m.Name, m.String()))
	}
	return strings.Join(names, ", or ")
}

// applying are the exceptions of a row that have a kind of strike under the plan's settings.
func applying(p *plans.Plan, invariant string, k invariants.StrikeKind) (names []string) {
	cfg := scheduler.JudgeConfig(p)
	for _, e := range promises.Matrix[invariant].Except {
		closed := slices.ContainsFunc(e.But, func(m invariants.Mechanism[config.Config]) bool { return m.On(&cfg) })
		if e.By&history.Strikes.Set(k) != 0 && !closed {
			names = append(names, without(e))
		}
	}
	return names
}

// lacks says whether the plan's settings promise nothing of the invariant, for want of that setting alone.
func lacks(p *plans.Plan, w witness) bool {
	cfg, alone := scheduler.JudgeConfig(p), false
	for _, m := range promises.Matrix[w.Invariant].Takes {
		off := slices.DeleteFunc(slices.Clone(m.Settings), func(s invariants.Setting[config.Config]) bool { return s.On(&cfg) })
		if len(off) == 0 {
			return false
		}
		alone = alone || len(off) == 1 && off[0].Name == w.Takes
	}
	return alone
}

func readWitnesses(t *testing.T) (list []witness) {
	data, err := os.ReadFile(witnessFile)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &list))
	return list
}

// judgeAlone runs a plan and returns what its judge says, whatever the plan expects, and of the invariant whatever becomes of
// those that it needs.
func judgeAlone(p *plans.Plan, invariant string) (invariants.Report, error) {
	if err := p.Validate(); err != nil {
		return invariants.Report{}, err
	}
	r, err := newRun(context.Background(), p, RunOptions{Drawn: true})
	if err != nil {
		return invariants.Report{}, err
	}
	r.judge.Ask(invariant)
	_, err = sim.Run(r.config(), r.play)
	return r.report, err
}

func outcomeOf(r *invariants.Report, name string) *invariants.Outcome {
	for i := range r.Invariants {
		if r.Invariants[i].Name == name {
			return &r.Invariants[i]
		}
	}
	return nil
}

// kindsOf are the kinds of strike that a fault of the plan can be.
func kindsOf(p *plans.Plan, f faults.Fault) (list []invariants.StrikeKind) {
	var events []sim.Event
	control := func(verb, node string) {
		lost := []sim.Change{{Key: "job:job-1"}} // by a death of Redis
		events = append(events, sim.Event{Kind: sim.KindControl, Name: verb, Target: node, Changes: lost})
	}
	nodes := []string{f.Node}
	if f.Node == faults.Actor {
		nodes = p.Topology.Actors(f.After.Phase)
	}
	switch {
	case f.On != nil:
		events = append(events, sim.Event{Kind: sim.KindRedis, Fault: string(f.Do), Phase: f.On.Phase})
	case f.Do == faults.Restart:
		control("stop", faults.NATS)
	case f.Do == faults.PowerLoss && f.Node == faults.NATS:
		control("stop", faults.NATS)
		control("power-loss", faults.NATS)
	case f.Do == faults.Partition && f.From == "heartbeats":
		control("partition", f.Node)
	case f.Do == faults.Partition:
		control("partition "+f.From, f.Node)
	default:
		for _, node := range nodes {
			control(string(f.Do), node)
		}
	}
	for i := range events {
		if s, ok := history.StrikeOf(&events[i]); ok {
			list = append(list, s.Kind)
		}
	}
	return list
}

// only returns the plan with those of its faults that are, or are not, of a kind.
func only(p *plans.Plan, k invariants.StrikeKind, is bool) *plans.Plan {
	q := p.Clone()
	q.Faults = slices.DeleteFunc(q.Faults, func(f faults.Fault) bool { return slices.Contains(kindsOf(p, f), k) != is })
	return q
}

// shows says why the plan is no witness.
func shows(p *plans.Plan, w witness) error {
	switch {
	case w.Gap != "":
		return showsGap(p, w)
	case w.Takes != "":
		return showsTakes(p, w)
	}
	k := invariants.StrikeKind(w.Strike)
	if names := applying(p, w.Invariant, k); len(names) != 1 || names[0] != w.Without {
		return fmt.Errorf("under its settings these exceptions have the strike: %q", names)
	}
	r, err := judgeAlone(p, w.Invariant)
	if err != nil {
		return err
	}
	o := outcomeOf(&r, w.Invariant)
	if o.Unprovided {
		return fmt.Errorf("its settings promise nothing")
	}
	if !slices.ContainsFunc(o.Violations, func(v invariants.Violation) bool { return releasedBy(v) == history.Strikes.Set(k) }) {
		return fmt.Errorf("it does not break it by that alone")
	}
	if r, err = judgeAlone(only(p, k, false), w.Invariant); err != nil {
		return err
	}
	if n := len(outcomeOf(&r, w.Invariant).Violations); n > 0 {
		return fmt.Errorf("it breaks it without such a strike, too")
	}
	return nil
}

// showsTakes says why the plan does not show that the promise takes the setting.
func showsTakes(p *plans.Plan, w witness) error {
	if !lacks(p, w) {
		return fmt.Errorf("its settings lack another than that")
	}
	r, err := judgeAlone(p, w.Invariant)
	if err != nil {
		return err
	}
	if o := outcomeOf(&r, w.Invariant); !slices.ContainsFunc(o.Violations, func(v invariants.Violation) bool { return releasedBy(v) == 0 && !v.InGap }) {
		return fmt.Errorf("it does not break it by that alone")
	}
	q := p.Clone()
	if err := turn(q, w.Takes, true); err != nil {
		return err
	}
	if r, err = judgeAlone(q, w.Invariant); err != nil {
		return err
	}
	if n := len(outcomeOf(&r, w.Invariant).Violations); n > 0 {
		return fmt.Errorf("it breaks it with the setting, too")
	}
	return nil
}

// showsGap says why the plan does not show the gap.
func showsGap(p *plans.Plan, w witness) error {
	r, err := judgeAlone(p, w.Invariant)
	if err != nil {
		return err
	}
	if o := outcomeOf(&r, w.Invariant); o.Unprovided || !slices.ContainsFunc(o.Violations, func(v invariants.Violation) bool { return releasedBy(v) == 0 && v.InGap }) {
		return fmt.Errorf("it does not break it by that alone")
	}
	return nil
}

// turns is what makes a plan have a setting of the matrix, or not, where its name does not say.
var turns = map[string][2]string{
	"a dispatch timeout that leaves time to resume an intent":   {"dispatch_timeout=10m", "dispatch_timeout=30s"},
	"deliveries that outlast every outage by half an hour":      {"max_deliver=400", "max_deliver=10"},
	"a dispatch_order other than outbox":                        {"dispatch_order=state-first", "dispatch_order=outbox"},
	"an intent before each dispatch":                            {"dispatch_order=state-first", "dispatch_order=publish-first"},
	"dispatch_order=state-first":                                {"dispatch_order=state-first", "dispatch_order=outbox"},
	"dispatch_order=outbox":                                     {"dispatch_order=outbox", "dispatch_order=state-first"},
	"twice as many deliveries as attempts":                      {"max_deliver=100", "max_deliver=10"},
	"world.redis_disk=always":                                   {"world.redis_disk=always", "world.redis_disk=everysec"},
	"topology.fan_out=false":                                    {"topology.fan_out=false", "topology.fan_out=true"},
	"resume_intents=false":                                      {"resume_intents=false", "resume_intents=true"},
	"tick_lock=until-expiry":                                    {"tick_lock=until-expiry", "tick_lock=renewed"},
	"tick_lock=renewed":                                         {"tick_lock=renewed", "tick_lock=until-expiry"},
	"tick_lock=released":                                        {"tick_lock=released", "tick_lock=until-expiry"},
	"dlq_order=atomic":                                          {"dlq_order=atomic", "dlq_order=state-then-dlq"},
	"dlq_order=dlq-then-state":                                  {"dlq_order=dlq-then-state", "dlq_order=state-then-dlq"},
	"ticks of at least 200 jobs":                                {"batch_size=200", "batch_size=1"},
	"read_error=fail-closed":                                    {"read_error=fail-closed", "read_error=fail-open"},
	"a job_lock_ttl of at least 1s":                             {"job_lock_ttl=1m", "job_lock_ttl=500ms"},
	"a saga.lock_ttl of at least 1m":                            {"saga.lock_ttl=1m", "saga.lock_ttl=10s"},
	"an output.scan_timeout of at least twice retry_delay_busy": {"output.scan_timeout=30s", "output.scan_timeout=1s"},
	"stale_reason_code=stale_worker":                            {"stale_reason_code=stale_worker", "stale_reason_code=no_workers"},
}

// turn gives a plan a setting of the matrix, or takes it away.
func turn(p *plans.Plan, setting string, on bool) error {
	words, known := turns[setting]
	if !known {
		words = [2]string{setting + "=true", setting + "=false"}
	}
	word := words[0]
	if !on {
		word = words[1]
	}
	if strings.HasPrefix(word, "topology.") || strings.HasPrefix(word, "world.") {
		return p.Set(word)
	}
	return p.Set("engine." + word)
}

// releasedBy are the kinds of strike that put a violation outside of the promise.
func releasedBy(v invariants.Violation) invariants.Kinds {
	return history.StrikesOf(v.Released...)
}

// Every release in the promise matrix has a witness: each kind of each exception, each setting that a promise takes, and each
// gap. Nothing else has one. What nothing needs is
// promised: if that is wrong, it comes back as a false alarm of random plans, whose shrunk plan is the witness.
// With -short the witnesses do not run.
func TestEveryReleaseHasAWitness(t *testing.T) {
	open := releases(t)
	used := map[string]bool{}
	for _, w := range readWitnesses(t) {
		cell := w
		cell.Plan = ""
		assert.True(t, open[cell], "%s is promised, or has two witnesses", w)
		delete(open, cell)
		used[w.Plan+".yaml"] = true
		p, err := plans.Load(filepath.Join(witnessPlans, w.Plan+".yaml"))
		require.NoError(t, err)
		if !testing.Short() {
			assert.NoError(t, shows(p, w), "%s, by %s", w, w.Plan)
		}
	}
	for w := range open {
		assert.Fail(t, "a release without a witness", w.String())
	}
	files, err := os.ReadDir(witnessPlans)
	require.NoError(t, err)
	for _, f := range files {
		assert.True(t, used[f.Name()], "%s is no witness", f.Name())
	}
}
