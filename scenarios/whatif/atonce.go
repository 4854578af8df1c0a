package whatif

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// atOnce finds what only helps at once, with what is known of each change alone.
func (b *bench) atOnce(c *why.Cause, given, remedies []change) error {
	if err := b.together(c, given); err != nil || !b.remedied {
		return err
	}
	return b.jointly(c, remedies)
}

// together finds strikes without all of which the violation does not come, and no fewer of them, where none of these is necessary
// alone; and the like of strikes and settings, where nothing is.
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

// jointly finds the parts of the preset hardened that the violation does not come with, and no fewer, where no part alone prevents it.
func (b *bench) jointly(c *why.Cause, remedies []change) error {
	b.joint, c.Jointly, c.Joined, c.Undivided = nil, nil, why.Outcome{}, false
	if c.Hardened != why.Holds || len(c.Remedies()) > 0 {
		return nil
	}
	if c.Undivided = len(c.Unready) > 0; c.Undivided {
		return nil // one alone may do
	}
	b.say("parts of the engine at once")
	joint, unknown, err := b.fewest(slices.DeleteFunc(slices.Clone(remedies), func(one change) bool { return !one.preset }))
	if c.Undivided = joint == nil || len(unknown) > 0; err != nil || c.Undivided {
		return err // fewer may do
	}
	for _, one := range joint.made {
		c.Jointly = append(c.Jointly, why.Missing{Set: one.instead, Means: one.means})
	}
	b.joint, c.Joined = joint, joint.Outcome
	return nil
}

// fewest finds changes with all of which at once the violation does not come, and no fewer of them: nil if it comes with the whole
// list, or if that is not known. Unknown are the lists of which that is so; one change alone is told of by itself.
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

// insteadOf is what parts of the engine are set to; "" of what is left out.
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

// valid are those of the changes that make a valid plan all at once.
func (b *bench) valid(list []change) (made []change) {
	for _, one := range list {
		if _, ok := apply(b.plan, append(made, one)...); ok {
			made = append(made, one)
		}
	}
	return made
}

// set is changes that are made at once, and what comes of them.
type set struct {
	made []change
	why.Tried
}
