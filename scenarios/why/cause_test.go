package why

import (
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
		"The violation needs a crash of worker-1 at 10s. Leave it out, and promise holds.":                                                                                           {Tried: []Tried{strike, spare}},
		"The violation needs a crash of worker-1 at 10s and engine.fence=false, with workload.slow.3=10s. Leave out any one of these, and promise holds.":                            {Tried: []Tried{strike, engine, world}},
		"The violation needs workload.slow.3=10s, but no strike and no setting of the engine. Leave it out, and promise holds.":                                                      {Tried: []Tried{world, spare}},
		"The violation needs one of these: a; b. Leave out all of them, and promise holds.":                                                                                          {Tried: []Tried{spare}, Together: []string{"a", "b"}},
		"The violation needs one of these: a; b. It needs engine.fence=false and workload.slow.3=10s, too. Leave out all of the first, or any one of the others, and promise holds.": {Tried: []Tried{engine, world}, Together: []string{"a", "b"}},
		"The violation needs no strike and no setting of the plan. It also holds with engine.epochs=true.":                                                                           {Tried: []Tried{spare, remedy}},
		"The violation comes whatever strike or setting of the plan is left out. The same plan is violated under the preset hardened, too.":                                          {Tried: []Tried{spare}, Hardened: Breaks},
		"The violation needs a crash of worker-1 at 10s. Leave it out, and promise holds. The same plan holds under the preset hardened.":                                            {Tried: []Tried{strike}, Hardened: Holds},
		"The violation needs late on publish of job 1, by 10s; and engine.fence=false. Leave out any one of these, and promise holds.":                                               {Tried: []Tried{{What: Strike, Says: "late on publish of job 1, by 10s", Needed: true}, engine}},
		"The violation needs hang on publish of job 1 (it hangs) and hang on publish of job 2. Leave out any one of these, and promise holds.":                                       {Tried: []Tried{{What: Strike, Says: "hang on publish of job 1", Means: "it hangs", Needed: true}, {What: Strike, Says: "hang on publish of job 2", Means: "it hangs", Needed: true}}},
		"A second one is stored. The violation needs a crash of worker-1 at 10s. Leave it out, and promise holds. It also holds with engine.epochs=true.":                            {Tried: []Tried{strike, {What: Remedy, Says: "engine.epochs=false", Instead: "engine.epochs=true", Means: "A second one is stored.", Needed: true}}},
		"What the violation needs is not known: the runs are so long that not every change could be tried.":                                                                          {Cut: true},
		"The violation needs a crash of worker-1 at 10s. Leave it out, and promise holds. The runs are so long that not every change could be tried.":                                {Tried: []Tried{strike}, Cut: true},
		"The violation needs workload.slow.3=10s. Leave it out, and promise holds. The runs are so long that not every change could be tried.":                                       {Tried: []Tried{world}, Cut: true},
		"The violation needs a crash of worker-1 at 10s. Leave it out, and promise holds. The point of no return is the start: the violation comes in each of 8 orders.":             {Tried: []Tried{strike}, NoReturn: &NoReturn{Orders: 8, Before: 8}},
	} {
		c.Invariant = "promise"
		assert.Equal(t, want, c.String())
	}
}
