package whatif

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// atOnce finds changes that only help together, given the result of each change alone.
func (b *bench) atOnce(c *why.Cause, given, remedies []change) error {
	if err := b.together(c, given); err != nil || !b.remedied {
		return err
	}
	return b.jointly(c, remedies)
}

// together finds a minimal set of strikes whose removal together prevents the violation, if none of them is necessary
// alone. If nothing is necessary, it looks for such a set of strikes and settings.
func (b *bench) together(c *why.Cause, given []change) error {
	b.say("changes at once")
	spare := func(kinds ...why.What) []change {
		return slices.DeleteFunc(slices.Clone(given), func(one change) bool {
			return !slices.Contains(kinds, one.what) || slices.ContainsFunc(c.Tried, func(t why.Tried) bool { return t.Needed && t.Says == one.says })
		})
	}
	fewest, unknown, err := b.fewest(spare(why.Strike))
	if err == nil && fewest == nil && len(c.Needed(why.Strike, why.Setting)) == 0 {
		var more []string
		fewest, more, err = b.fewest(spare(why.Strike, why.Setting))
		unknown = append(unknown, more...)
	}
	for _, made := range unknown {
		if says := "without " + made + " at once"; !slices.Contains(c.Unknown, says) {
			c.Unknown = append(c.Unknown, says)
		}
	}
	b.apart, c.Together, c.Apart = fewest, nil, why.Outcome{}
	if fewest != nil {
		c.Apart = fewest.Outcome
		for _, one := range fewest.made {
			c.Together = append(c.Together, one.says)
		}
	}
	return err
}

// jointly finds a minimal set of parts of the preset hardened that prevent the violation together, if no part alone does.
func (b *bench) jointly(c *why.Cause, remedies []change) error {
	b.joint, c.Jointly, c.Joined, c.Undivided = nil, nil, why.Outcome{}, false
	if c.Hardened != why.Holds || len(c.Remedies()) > 0 {
		return nil
	}
	if c.Undivided = len(c.Unready) > 0; c.Undivided {
		return nil // one alone may suffice
	}
	b.say("parts of the engine at once")
	joint, unknown, err := b.fewest(slices.DeleteFunc(slices.Clone(remedies), func(one change) bool { return !one.preset }))
	if c.Undivided = joint == nil || len(unknown) > 0; err != nil || c.Undivided {
		return err // fewer may suffice
	}
	for _, one := range joint.made {
		c.Jointly = append(c.Jointly, why.Missing{Set: one.instead, Means: one.means})
	}
	b.joint, c.Joined = joint, joint.Outcome
	return nil
}

// fewest finds a minimal set of changes that prevent the violation together. found is nil if the whole list does not
// prevent it, or if that is not known. unknown are the sets whose effect is not known, except single changes, which are
// reported by themselves.
func (b *bench) fewest(list []change) (found *set, unknown []string, err error) {
	list = b.valid(list)
	if len(list) < 2 {
		return nil, nil, nil
	}
	try := func(made []change) (*set, error) {
		p, ok := apply(b.plan, made...)
		if !ok {
			return nil, nil
		}
		t, known, err := b.try(p, change{what: made[0].what, strike: -1, says: and(made), instead: insteadOf(made)})
		switch {
		case err != nil:
			return nil, err
		case known && !t.Needed:
			return nil, nil
		}
		if known && b.inOrders {
			comes, all, err := b.comesInAnotherOrder(p)
			if err != nil || comes {
				return nil, err
			}
			known = all
		}
		if known {
			return &set{made, t}, nil
		}
		if len(made) > 1 {
			unknown = append(unknown, and(made))
		}
		return nil, nil
	}
	if found, err = try(list); err != nil || found == nil {
		return nil, unknown, err
	}
	for many := len(list) / 2; many > 0; many /= 2 {
		for i := 0; i < len(found.made) && len(found.made) > many; {
			fewer, err := try(slices.Delete(slices.Clone(found.made), i, min(i+many, len(found.made))))
			switch {
			case err != nil:
				return nil, nil, err
			case fewer != nil:
				found = fewer
			default:
				i += many
			}
		}
	}
	return found, unknown, nil
}

// insteadOf is what parts of the engine are set to; it is "" for parts of the plan that are left out.
func insteadOf(made []change) string {
	var list []string
	for _, one := range made {
		if one.what == why.Remedy {
			list = append(list, one.instead)
		}
	}
	return strings.Join(list, " and ")
}

func and(made []change) string {
	var says []string
	for _, one := range made {
		says = append(says, one.says)
	}
	return strings.Join(says, " and ")
}

// valid returns the changes that make a valid plan together.
func (b *bench) valid(list []change) (made []change) {
	for _, one := range list {
		if _, ok := apply(b.plan, append(made, one)...); ok {
			made = append(made, one)
		}
	}
	return made
}

// set is changes that are made together, and the result.
type set struct {
	made []change
	why.Tried
}
