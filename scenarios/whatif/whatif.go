package whatif

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/diff"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// ErrHeld is what Explain fails with where there is no violation to explain.
var ErrHeld = errors.New("no invariant was broken")

// Options are what Explain takes besides its plan.
type Options struct {
	Invariant string            // whose violation is explained; "" is the first that the run breaks, of promises if it breaks any
	Variant   scheduler.Variant // changes the code under test; nil leaves it as it is
	Quick     bool              // tries the parts of the engine only where the preset hardened holds or nothing else is to blame
	Steps     int               // how many steps the runs may take in all; 0 is 500,000, or 150,000 where Quick
	Progress  func(string)      // is told what is looked for; nil is nobody
}

// What Steps is by default. Two processors take some twenty thousand steps a second, and ten thousand where workflows stand
// still: a command has its answer within 25 to 50 seconds, and a page within 8 to 15, of which most take two. The runs share the
// steps, and the last one is cut where they are used up. Only the plan's own run has its end whatever it takes.
const (
	stepsMost      = 500_000
	stepsMostQuick = 150_000
)

// Explain runs the plan, and finds what its violation hangs on. It fails with an error that wraps [ErrHeld] if there is none,
// if the plan cannot be run, or if ctx is cancelled.
func Explain(ctx context.Context, plan *plans.Plan, opt Options) (*why.Cause, error) {
	b := &bench{ctx: ctx, plan: plan, variant: opt.Variant, invariant: opt.Invariant, most: opt.Steps, say: opt.Progress}
	if b.say == nil {
		b.say = func(string) {}
	}
	if b.most == 0 {
		b.most = stepsMost
		if opt.Quick {
			b.most = stepsMostQuick
		}
	}
	b.say("the plan's own run")
	res, own, err := b.ownRun()
	if err != nil {
		return nil, err
	}
	v := &res.Violations[slices.IndexFunc(res.Violations, func(v scenarios.Violation) bool { return v.Invariant == b.invariant })]
	c := &why.Cause{Invariant: v.Invariant, Job: v.Job, Step: v.Step, At: v.At, Message: v.Message, Path: path(res, v, own.phases)}
	if err := b.blame(c, opt.Quick); err != nil {
		return nil, err
	}
	c.Cut = b.cut
	b.say("the point of no return")
	if c.NoReturn, err = b.noReturn(cmp.Or(v.Step, res.Steps)); err != nil {
		return nil, err
	}
	c.Runs, c.Steps = b.runs, b.steps
	return c, nil
}

// ownRun makes the plan's own run, up to the violation.
func (b *bench) ownRun() (*scenarios.Result, *hashes, error) {
	if b.invariant == "" || b.plan.Schedule.Strategy == plans.PCT {
		res, err := scenarios.Run(b.ctx, b.plan, scenarios.RunOptions{Variant: b.variant, Drawn: true})
		if err != nil {
			return nil, nil, err
		}
		if b.invariant == "" {
			b.invariant = first(res.Violations)
		}
		if b.invariant == "" {
			return nil, nil, ErrHeld
		}
		if res.PCT != nil {
			b.pct = res.PCT.Steps
		}
		b.steps += res.Steps
	}
	own := &hashes{phases: map[int]string{}}
	res, comes, _, err := b.run(b.plan, nil, own, b.plan.Schedule.StepsMax)
	if err != nil {
		return nil, nil, err
	}
	if !comes {
		return nil, nil, fmt.Errorf("%s: %w", b.invariant, ErrHeld)
	}
	b.own = own.list
	return res, own, nil
}

// blame makes the changes, each alone.
func (b *bench) blame(c *why.Cause, quick bool) (err error) {
	given, parts := changes(b.plan, b.invariant)
	if err := b.tryEach(c, given); err != nil {
		return err
	}
	if c.Together, err = b.together(c, given); err != nil {
		return err
	}
	if c.Hardened, err = b.hardened(); err != nil {
		return err
	}
	if !quick || c.Hardened == why.Holds || len(c.Blamed())+len(c.Together) == 0 {
		if err := b.tryEach(c, parts); err != nil {
			return err
		}
	}
	return b.nearest(c, append(given, parts...))
}

// tryEach tries the changes until the steps are used up.
func (b *bench) tryEach(c *why.Cause, list []change) error {
	for i, one := range list {
		b.say(fmt.Sprintf("change %d of %d: %s", i+1, len(list), one.says))
		t, known, err := b.try(one)
		if err != nil {
			return err
		}
		if known {
			c.Tried = append(c.Tried, t)
		}
	}
	return nil
}

// hardened says what the invariant comes to in the same plan under the preset hardened.
func (b *bench) hardened() (why.Standing, error) {
	p := b.plan.Clone()
	if p.Preset == plans.PresetHardened || p.Set("preset="+plans.PresetHardened) != nil || p.Validate() != nil {
		return "", nil
	}
	b.say("under the preset hardened")
	comes, known, err := b.play(p, nil, nil)
	switch {
	case err != nil || !known:
		return "", err
	case comes:
		return why.Breaks, nil
	default:
		return why.Holds, nil
	}
}

// first is the invariant of the first violation, of those that are judged if there are any.
func first(list []scenarios.Violation) string {
	for _, v := range list {
		if v.Promised {
			return v.Invariant
		}
	}
	if len(list) > 0 {
		return list[0].Invariant
	}
	return ""
}

// try makes one change. It is not known what comes of one that makes no valid plan.
func (b *bench) try(one change) (t why.Tried, known bool, err error) {
	p, ok := apply(b.plan, one)
	if !ok {
		return t, false, nil
	}
	beside := &parting{own: b.own}
	comes, known, err := b.play(p, nil, beside)
	t = why.Tried{What: one.what, Says: one.says, Means: one.means, Instead: one.instead, Needed: !comes}
	if beside.parted || beside.equal < len(b.own) {
		t.Parts = beside.equal + 1
	}
	return t, known, err
}

// together finds strikes without all of which the violation does not come, and no fewer of them, where none of these is necessary
// alone; and the like of strikes and settings, where nothing is.
func (b *bench) together(c *why.Cause, given []change) ([]string, error) {
	b.say("changes at once")
	spare := func(kinds ...why.What) []change {
		return slices.DeleteFunc(slices.Clone(given), func(one change) bool {
			return !slices.Contains(kinds, one.what) || slices.ContainsFunc(c.Tried, func(t why.Tried) bool { return t.Needed && t.Says == one.says })
		})
	}
	said, err := b.fewest(spare(why.Strike))
	if err == nil && said == nil && len(c.Needed(why.Strike, why.Setting)) == 0 {
		said, err = b.fewest(spare(why.Strike, why.Setting))
	}
	return said, err
}

// fewest finds changes without all of which the violation does not come, and no fewer of them: nil if it comes without the whole list.
func (b *bench) fewest(left []change) ([]string, error) {
	if len(left) < 2 {
		return nil, nil
	}
	held := func(made []change) (bool, error) {
		p, ok := apply(b.plan, made...)
		if !ok {
			return false, nil
		}
		comes, known, err := b.play(p, nil, nil)
		return known && !comes, err
	}
	if ok, err := held(left); err != nil || !ok {
		return nil, err
	}
	for i := 0; i < len(left); {
		fewer := slices.Delete(slices.Clone(left), i, i+1)
		ok, err := held(fewer)
		switch {
		case err != nil:
			return nil, err
		case ok:
			left = fewer
		default:
			i++
		}
	}
	var said []string
	for _, c := range left {
		said = append(said, c.says)
	}
	return said, nil
}

// nearest finds the nearest run without the violation, and where it parts from the plan's own. One that lacks a strike, or
// whose engine is another, goes before one in other circumstances.
func (b *bench) nearest(c *why.Cause, list []change) error {
	var best *why.Tried
	for i, t := range c.Tried {
		if !t.Needed || t.Parts == 0 {
			continue
		}
		if best == nil || !t.Circumstance() && best.Circumstance() || t.Circumstance() == best.Circumstance() && t.Parts > best.Parts {
			best = &c.Tried[i]
		}
	}
	if best == nil {
		return nil
	}
	i := slices.IndexFunc(list, func(one change) bool {
		return one.what == best.What && one.says == best.Says && one.instead == best.Instead
	})
	changed, _ := apply(b.plan, list[i])
	own, err := b.event(b.plan, best.Parts)
	if err != nil {
		return err
	}
	other, err := b.event(changed, best.Parts)
	if err != nil {
		return err
	}
	c.Nearest = &why.Nearest{Tried: *best, Own: pointOf(own, other), Other: pointOf(other, own)}
	return nil
}

// event runs a plan up to its event of that number, and returns that, or nil if the run is over before.
func (b *bench) event(p *plans.Plan, number int) (*sim.Event, error) {
	n := &nth{step: number}
	_, _, _, err := b.run(p, nil, n, number)
	return n.event, err
}

// differenceMost is how many characters of a difference are told.
const differenceMost = 120

// pointOf tells an event. Where the words of another are the same, it has what differs, too.
func pointOf(e, other *sim.Event) *why.Point {
	if e == nil {
		return nil
	}
	p := &why.Point{Step: e.Step, At: e.At, Operation: e.Phase, Says: e.Words()}
	if other == nil || other.Words() != p.Says {
		return p
	}
	var differ []string
	for _, v := range diff.FieldsThatDiffer(e, other) {
		text := cmp.Or(v.A, "none")
		if utf8.RuneCountInString(text) > differenceMost {
			text = string([]rune(text)[:differenceMost]) + "…"
		}
		differ = append(differ, v.Key+" "+text)
	}
	if len(differ) > 0 {
		p.Says += ", with " + strings.Join(differ, ", ")
	}
	return p
}

// pathMost is how many sentences a path has at most.
const pathMost = 6

// path is how it came to the violation: the sentences of the story that lead to it, as many as there is room for, and that of
// it. Those of one step are one.
func path(res *scenarios.Result, v *scenarios.Violation, phases map[int]string) (list []why.Point) {
	for most := pathMost - 1; ; most++ {
		leading, left := res.Leading(v, most)
		longer := tell(res, v, leading, phases)
		if len(longer) > pathMost {
			return list
		}
		if list = longer; left == 0 {
			return list
		}
	}
}

// tell links those sentences of the story, and that of the violation. What becomes of other jobs alone is left out.
func tell(res *scenarios.Result, v *scenarios.Violation, leading []int, phases map[int]string) (list []why.Point) {
	for i, at := range res.TellingAt {
		broken := at.Violates == v.Invariant && strings.Contains(res.Telling[i], v.Message)
		if !broken && (!slices.Contains(leading, i) || res.Aside(i, v)) {
			continue
		}
		p := why.Point{Step: at.Step, At: at.At, Says: res.Telling[i]}
		if at.Wrong || at.Step == v.Step || slices.Contains(v.Steps, at.Step) {
			p.Operation = phases[at.Step]
		}
		if n := len(list); n == 0 || !link(&list[n-1], p) {
			list = append(list, p)
		}
		if broken {
			break
		}
	}
	return list
}

// link puts a sentence behind another if both are of one step, or of one millisecond and one of them of no step.
func link(p *why.Point, next why.Point) bool {
	says, same := strings.CutPrefix(next.Says, "At "+invariants.Instant(p.At)+" ")
	if !same || p.Step != next.Step && p.Step != 0 && next.Step != 0 {
		return false
	}
	p.Says = strings.TrimSuffix(p.Says, ".") + "; " + says
	p.Step, p.Operation = cmp.Or(p.Step, next.Step), cmp.Or(p.Operation, next.Operation)
	return true
}
