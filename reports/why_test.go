package reports

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// The first screen says what the first violation hangs on, from where there is no return, and where the nearest run parts, if it
// lacks a strike, too.
func TestThePageSaysWhy(t *testing.T) {
	tape := ackLost(true)
	strike := why.Tried{What: why.Strike, Says: "fail-after on publish of job 3", Needed: true, PartsAt: 124}
	tape.res.Cause = &why.Cause{
		Invariant: "one-dispatch-per-job",
		Tried:     []why.Tried{strike},
		NoReturn:  &why.NoReturn{Step: 31, Orders: 8, Before: 3},
		Nearest: &why.Nearest{
			Tried:   strike,
			Parting: why.Parting{Own: &why.Point{Step: 124, At: time.Second, Says: "it was struck"}, Other: &why.Point{Step: 124, At: time.Second, Says: "it was not"}},
			Then:    &why.Parting{Job: "job-3", Own: &why.Point{Step: 130, At: time.Second, Says: "it failed"}},
		},
	}
	header, _, _ := strings.Cut(tape.page(), "</header>")
	_, section, _ := strings.Cut(header, `<h2 id="why">`)
	says := text(section)
	assert.Contains(t, says, "The violation needs a fault: fail-after on publish of job 3. Without the fault")
	assert.Contains(t, says, "The point of no return is step 31: from there on the violation came in each of 8 orders that were tried, and from the step before in 3 of 8.")
	assert.Contains(t, says, "The nearest run that holds, without fail-after on publish of job 3, is the same for 123 steps. Then it has it was not at 1s where this run has it was struck")
	assert.Contains(t, says, "Of job-3 the first that differs is nothing more of job-3 where this run has it failed")
	tape.res.Cause.Nearest = &why.Nearest{Tried: why.Tried{What: why.Remedy, Instead: "engine.x=y", Needed: true}}
	assert.Contains(t, text(tape.page()), "The nearest run that holds, with engine.x=y, is the same in all its steps.")
	tape.res.Cause.Nearest.Breaks = []string{"other"}
	assert.Contains(t, text(tape.page()), "The nearest run in which one-dispatch-per-job holds, with engine.x=y, is the same in all its steps.", "and it does not hold as a whole")
}

// The page has the commands for what it does not know, and for the same plan under the preset hardened, whatever preset was given.
func TestThePageSaysHowToKnowMore(t *testing.T) {
	tape := ackLost(true)
	command := tape.res.WhyCommand("one-dispatch-per-job")
	assert.Contains(t, text(tape.page()), "Why it came to that was not looked for. This finds it: "+command)
	tape.res.Overrides = []string{"preset=documented"}
	tape.res.Cause = &why.Cause{Invariant: "one-dispatch-per-job", Hardened: why.Holds, Unknown: []string{"without x"}}
	page := text(tape.page())
	assert.NotContains(t, page, "was not looked for")
	assert.Contains(t, page, "To find what is not known: "+tape.res.WhyCommand("one-dispatch-per-job"))
	assert.Contains(t, page, "The same plan under the preset hardened: "+tape.res.HardenedCommand())
	tape.res.Violations, tape.res.Cause = nil, nil
	assert.NotContains(t, text(tape.page()), "was not looked for")
}

// The page explains the first violation; of each other it has the command that does.
func TestAnotherViolationHasTheCommandThatExplainsIt(t *testing.T) {
	tape := ackLost(true)
	other := tape.res.Violations[0]
	other.Invariant, other.Promised = "one-effect-per-key", false
	tape.res.Violations = append(tape.res.Violations, other)
	tape.res.Cause = &why.Cause{Invariant: "one-dispatch-per-job"}
	cards := text(sectionOf(t, tape.page(), "violations"))
	assert.Contains(t, cards, "Why: "+tape.res.WhyCommand("one-effect-per-key"))
	assert.NotContains(t, cards, "--invariant one-dispatch-per-job")
	tape.res.Cause = nil
	assert.Contains(t, text(sectionOf(t, tape.page(), "violations")), "--invariant one-dispatch-per-job")
}
