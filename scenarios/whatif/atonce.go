package whatif

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// together finds strikes without all of which the violation does not come, and no fewer of them, where none of these is necessary
// alone; and the like of strikes and settings, where nothing is.
func (b *bench) together(c *why.Cause, given []change) (*set, error) {
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
	return fewest, err
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
		case !known && len(made) > 1:
			unknown = append(unknown, and(made))
		case known && t.Needed:
			return &set{made, t}, nil
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
