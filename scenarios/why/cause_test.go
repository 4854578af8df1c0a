package why

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestACauseInASentence(t *testing.T) {
	strike := Tried{What: Strike, Says: "crash of worker-1 at 10s", Needed: true}
	engine := Tried{What: Setting, Says: "engine.fence=false", Instead: "engine.fence=true", Needed: true}
	world := Tried{What: Setting, Says: "workload.slow.3=10s", Needed: true}
	remedy := Tried{What: Remedy, Says: "engine.epochs=false", Instead: "engine.epochs=true", Needed: true}
	spare := Tried{What: Strike, Says: "pause of worker-2 at 20s"}
	for want, c := range map[string]*Cause{
		"The violation needs a fault: a crash of worker-1 at 10s. Without the fault, promise holds.":                                                                                                                                                                             {Tried: []Tried{strike, spare}},
		"The violation needs a fault: a crash of worker-1 at 10s. It needs engine.fence=false and workload.slow.3=10s, too. Without any one of what it needs, promise holds.":                                                                                                    {Tried: []Tried{strike, engine, world}},
		"The violation needs workload.slow.3=10s, but no fault and no setting of the engine. Without workload.slow.3=10s, promise holds.":                                                                                                                                        {Tried: []Tried{world, spare}},
		"The violation needs one of these: a; b. Without both, promise holds.":                                                                                                                                                                                                   {Tried: []Tried{spare}, Together: []string{"a", "b"}},
		"The violation needs one of these: a; b. It needs engine.fence=false and workload.slow.3=10s, too. Without all of the first at once, or any one of what else it needs, promise holds.":                                                                                   {Tried: []Tried{engine, world}, Together: []string{"a", "b"}},
		"The violation needs no fault and no setting of the plan. With engine.epochs=true, promise holds.":                                                                                                                                                                       {Tried: []Tried{spare, remedy}},
		"It is void. The violation comes whatever fault or setting of the plan is left out. With engine.a=true and engine.b=true at once, and with no fewer, promise holds, but then x breaks.":                                                                                  {Tried: []Tried{spare}, Jointly: []Missing{{"engine.a=true", "It is void."}, {"engine.b=true", ""}}, Joined: Outcome{Breaks: []string{"x"}}},
		"The violation comes whatever fault or setting of the plan is left out. Of 2 more parts of the engine it is not known what comes with them.":                                                                                                                             {Tried: []Tried{spare}, Unready: []string{"with a", "with b"}},
		"The violation comes whatever fault or setting of the plan is left out. It comes under the preset hardened, too, where nothing promises that it does not.":                                                                                                               {Tried: []Tried{spare}, Hardened: Beyond},
		"The violation comes whatever fault or setting of the plan is left out. The same plan is violated under the preset hardened, too.":                                                                                                                                       {Tried: []Tried{spare}, Hardened: Breaks},
		"The violation needs a fault: a crash of worker-1 at 10s. Without the fault, promise holds. Whether it comes depends on the order of the steps right up to the violation.":                                                                                               {Tried: []Tried{strike}, Step: 7, NoReturn: &NoReturn{Step: 7, Never: true, Orders: 8, Before: 5}},
		"The violation needs a fault: a crash of worker-1 at 10s. Without the fault, promise holds. The same plan holds under the preset hardened.":                                                                                                                              {Tried: []Tried{strike}, Hardened: Holds},
		"The violation needs a fault: late on publish of job 1, by 10s. It needs engine.fence=false, too. Without any one of what it needs, promise holds.":                                                                                                                      {Tried: []Tried{{What: Strike, Says: "late on publish of job 1, by 10s", Needed: true}, engine}},
		"The violation needs 2 faults: hang on publish of job 1 (it hangs); hang on publish of job 2. Without any one of what it needs, promise holds.":                                                                                                                          {Tried: []Tried{{What: Strike, Says: "hang on publish of job 1", Means: "it hangs", Needed: true}, {What: Strike, Says: "hang on publish of job 2", Means: "it hangs", Needed: true}}},
		"A second one is stored. The violation needs a fault: a crash of worker-1 at 10s. Without the fault, promise holds. With engine.epochs=true, promise holds.":                                                                                                             {Tried: []Tried{strike, {What: Remedy, Says: "engine.epochs=false", Instead: "engine.epochs=true", Means: "A second one is stored.", Needed: true}}},
		"What the violation needs is not known. It is not known what comes without x.":                                                                                                                                                                                           {Unknown: []string{"without x"}},
		"The violation needs a fault: a crash of worker-1 at 10s. Without the fault, promise holds. It is not known what comes without x.":                                                                                                                                       {Tried: []Tried{strike}, Unknown: []string{"without x"}},
		"The violation needs workload.slow.3=10s. Without workload.slow.3=10s, promise holds. It is not known what comes without x.":                                                                                                                                             {Tried: []Tried{world}, Unknown: []string{"without x"}},
		"The violation needs a fault: a crash of worker-1 at 10s. Without the fault, promise holds. The order of the steps matters. The point of no return is step 7: from there on the violation came in each of 8 orders that were tried, and from the step before in 5 of 8.": {Tried: []Tried{strike}, NoReturn: &NoReturn{Step: 7, Orders: 8, Before: 5}},
	} {
		assert.Equal(t, want, saidOf(c))
	}
}

// saidOf is what is said of the cause of promise's violation for job-3, of which the order does not matter if nothing is known of it.
func saidOf(c *Cause) string {
	c.Invariant, c.Job = "promise", "job-3"
	if c.NoReturn == nil {
		c.NoReturn = &NoReturn{Orders: 8, Before: 8}
	}
	return c.String()
}

// What the invariant is not judged by does not hold it, and what else goes wrong is said, last of all where it goes worst.
func TestWhatComesOfEachChange(t *testing.T) {
	crash := Tried{What: Strike, Says: "crash of worker-1 at 10s", Did: "worker-1 crashed", Needed: true}
	lost := Tried{What: Strike, Says: "fail-before on publish of job 3", Did: "the publish of job-3 failed", Needed: true, Outcome: Outcome{Jobs: []string{"job-3 ends TIMEOUT"}}}
	idle := Tried{What: Setting, Says: "workload.every=5s", Needed: true, Outcome: Outcome{Idle: true}}
	worse := Tried{What: Remedy, Says: "engine.a=false", Instead: "engine.a=true", Aside: "It is lost.", Needed: true, Outcome: Outcome{Breaks: []string{"x", "y"}, Still: []string{"z"}}}
	good := Tried{What: Remedy, Says: "engine.b=false", Instead: "engine.b=true", Needed: true}
	gone := Tried{What: Remedy, Says: "engine.c=false", Instead: "engine.c=true", Means: "It is written.", Needed: true, Outcome: Outcome{Idle: true}}
	long := Tried{What: Setting, Says: "workload.labels.3=" + strings.Repeat("x", 10_000), Needed: true}
	for want, c := range map[string]*Cause{
		"The violation needs 2 faults: worker-1 crashed; the publish of job-3 failed. It needs workload.every=5s, too. Without the crash, promise holds. Without workload.every=5s, nothing happens that promise judges. Without the fail-before, promise holds, but then job-3 ends TIMEOUT. With engine.b=true, promise holds. With engine.a=true, promise holds, but then x and y break and z still breaks. The plan's own run also breaks z.": {Tried: []Tried{crash, lost, idle, worse, good}, Also: []string{"z"}},
		"It is written. The violation needs no fault and no setting of the plan. With engine.c=true, or under the preset hardened, nothing happens that promise judges.":                                              {Tried: []Tried{gone}, Hardened: Idle},
		"It is written. The violation needs no fault and no setting of the plan. With engine.c=true, nothing happens that promise judges.":                                                                            {Tried: []Tried{gone}},
		"The violation needs a fault: worker-1 crashed. Without the fault, promise holds. The plan's own run also breaks z, which holds with each of these changes.":                                                  {Tried: []Tried{crash}, Also: []string{"z"}},
		"The violation needs a fault: the publish of job-3 failed. Without the fault, promise holds, but then job-3 ends TIMEOUT. Under the preset hardened, nothing happens that promise judges.":                    {Tried: []Tried{lost}, Hardened: Idle},
		"The violation needs workload.every=5s, but no fault and no setting of the engine. Without workload.every=5s, nothing happens that promise judges.":                                                           {Tried: []Tried{idle}, NoReturn: &NoReturn{Orders: 8, Before: 8}},
		"The violation needs workload.labels.3=" + strings.Repeat("x", clipAt-18) + "…, but no fault and no setting of the engine. Without workload.labels.3=" + strings.Repeat("x", clipAt-18) + "…, promise holds.": {Tried: []Tried{long}},
	} {
		assert.Equal(t, want, saidOf(c))
	}
}

// A sentence says no more than was tried, and names what it is about.
func TestWhatIsNotKnownIsNotSaid(t *testing.T) {
	strike := Tried{What: Strike, Says: "crash of worker-1 at 10s", Needed: true}
	with := func(o Outcome) *Cause {
		t := strike
		t.Outcome = o
		return &Cause{Tried: []Tried{t}}
	}
	remedy := func(name string) Tried {
		return Tried{What: Remedy, Says: name + "=false", Instead: name + "=true", Needed: true}
	}
	hardened := &Cause{Tried: []Tried{strike}, Hardened: Holds, Beside: Outcome{Breaks: []string{"z"}}}
	judged := &Cause{Tried: []Tried{strike, {What: Setting, Says: "workload.saga=4", Needed: true, Outcome: Outcome{Unjudged: []string{"z"}}}}, Also: []string{"z"}}
	for want, c := range map[string]*Cause{
		"Without the fault, promise holds. Under the preset hardened, promise holds, but then z breaks.":                                                                                hardened,
		"Without any one of what it needs, promise holds. The plan's own run also breaks z.":                                                                                            judged,
		"Without the fault, promise holds, but then z breaks outside of its promise and job-3 ends TIMEOUT all the same.":                                                               with(Outcome{Beyond: []string{"z"}, Same: "job-3 ends TIMEOUT"}),
		"Without the fault, promise holds for job-3, but then the invariant still breaks for job-4.":                                                                                    with(Outcome{Others: []string{"job-4"}}),
		"Without the fault, promise holds for job-3, but then the invariant breaks for job-4.":                                                                                          with(Outcome{Elsewhere: []string{"job-4"}}),
		"Without the fault, promise holds, but then job-2 ends FAILED (likewise job-3 and job-4) and job-5 ends TIMEOUT.":                                                               with(Outcome{Jobs: []string{"job-2 ends FAILED", "job-3 ends FAILED", "job-5 ends TIMEOUT", "job-4 ends FAILED"}}),
		"The violation needs no fault and no setting of the plan that can be left out. With a=true, promise holds. backoff=5m could not be left out alone: the plan is not valid then.": {Tried: []Tried{remedy("a")}, Untried: []string{"backoff=5m"}},
		"With a=true, b=true or c=true, promise holds. With 1 more part of the engine the violation does not come either.":                                                              {Tried: []Tried{remedy("a"), remedy("b"), remedy("c"), remedy("d")}},
		"With a=true, b=true or c=true, promise holds. With each of 2 more parts of the engine the violation does not come either.":                                                     {Tried: []Tried{remedy("a"), remedy("b"), remedy("c"), remedy("d"), remedy("e")}},
		"The violation comes whatever fault or setting of the plan is left out, in this order of the steps or in another.":                                                              {Tried: []Tried{{What: Strike, Says: "a", Shuffled: true}}},
		"promise holds, but then z still breaks. The plan's own run also breaks z.":                                                                                                     {Jointly: []Missing{{Set: "a"}, {Set: "b"}}, Joined: Outcome{Still: []string{"z"}}, Also: []string{"z"}},
		"is left out. The plan's own run also breaks z.":                                                                                                                                {Other: &Build{Standing: Holds}, Also: []string{"z"}},
	} {
		assert.Contains(t, saidOf(c), want)
	}
	c := &Cause{Invariant: "promise", Tried: []Tried{strike}}
	assert.Contains(t, c.Holding(), "Whether the order of the steps matters is not known.")
}
