package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Preemption makes an operation go at a step instead of the one whose turn it is.
type Preemption struct {
	Step int    // from 1, as in the trace
	To   string // the actor, as [Actor.String] says it
	Nth  int    // which of the actor's ready operations, from 1, in the order of their descriptions
}

// String returns STEP=ACTOR, followed by # and Nth if that is not 1.
func (p Preemption) String() string {
	s := strconv.Itoa(p.Step) + "=" + p.To
	if p.Nth > 1 {
		s += "#" + strconv.Itoa(p.Nth)
	}
	return s
}

// Preemptions writes a list of pre-emptions, joined by commas.
func Preemptions(list []Preemption) string {
	var said []string
	for _, p := range list {
		said = append(said, p.String())
	}
	return strings.Join(said, ",")
}

// ParsePreemptions reads what [Preemptions] writes. The steps must rise.
func ParsePreemptions(text string) (list []Preemption, err error) {
	if text == "" {
		return nil, nil
	}
	last := 0
	for _, one := range strings.Split(text, ",") {
		step, to, ok := strings.Cut(strings.TrimSpace(one), "=")
		p := Preemption{To: to, Nth: 1}
		if p.Step, err = strconv.Atoi(step); err != nil || !ok {
			return nil, fmt.Errorf("%.40q is no step and whose turn it becomes", one)
		}
		if to, nth, several := strings.Cut(to, "#"); several {
			if p.To = to; nth == "" {
				return nil, fmt.Errorf("%.40q has nothing behind its #", one)
			}
			if p.Nth, err = strconv.Atoi(nth); err != nil || p.Nth < 1 {
				return nil, fmt.Errorf("%.40q has no number from 1 behind its #", one)
			}
		}
		switch {
		case p.To == "":
			return nil, fmt.Errorf("%.40q names nobody", one)
		case p.Step <= last:
			return nil, errors.New("the steps do not rise from 1")
		}
		last = p.Step
		list = append(list, p)
	}
	return list, nil
}
