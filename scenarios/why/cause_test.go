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
		"It takes a crash of worker-1 at 10s. Without it, promise holds.":                                                                                           {Tried: []Tried{strike, spare}},
		"It takes a crash of worker-1 at 10s and engine.fence=false, with workload.slow.3=10s. Without any one of these, promise holds.":                            {Tried: []Tried{strike, engine, world}},
		"It takes workload.slow.3=10s, but no strike and no setting of the engine. Without it, promise holds.":                                                      {Tried: []Tried{world, spare}},
		"It takes one of these: a; b. Only without all of them, promise holds.":                                                                                     {Tried: []Tried{spare}, Together: []string{"a", "b"}},
		"It takes one of these: a; b. It takes engine.fence=false and workload.slow.3=10s, too. Without all of the first, or any one of the others, promise holds.": {Tried: []Tried{engine, world}, Together: []string{"a", "b"}},
		"It takes no strike and no setting of the plan. With engine.epochs=true it holds, too.":                                                                     {Tried: []Tried{spare, remedy}},
		"It comes whatever strike or setting of the plan is left out. The same plan under the preset hardened breaks it, too.":                                      {Tried: []Tried{spare}, Hardened: Breaks},
		"It takes a crash of worker-1 at 10s. Without it, promise holds. The same plan under the preset hardened keeps it.":                                         {Tried: []Tried{strike}, Hardened: Holds},
		"It takes late on publish of job 1, by 10s; and engine.fence=false. Without any one of these, promise holds.":                                               {Tried: []Tried{{What: Strike, Says: "late on publish of job 1, by 10s", Needed: true}, engine}},
		"It takes hang on publish of job 1 (it hangs) and hang on publish of job 2. Without any one of these, promise holds.":                                       {Tried: []Tried{{What: Strike, Says: "hang on publish of job 1", Means: "it hangs", Needed: true}, {What: Strike, Says: "hang on publish of job 2", Means: "it hangs", Needed: true}}},
		"A second one is stored. It takes a crash of worker-1 at 10s. Without it, promise holds. With engine.epochs=true it holds, too.":                            {Tried: []Tried{strike, {What: Remedy, Says: "engine.epochs=false", Instead: "engine.epochs=true", Means: "A second one is stored.", Needed: true}}},
		"What it takes is not known: the run is long, and was not made again with each strike and setting left out.":                                                {Cut: true},
	} {
		c.Invariant = "promise"
		assert.Equal(t, want, c.String())
	}
}
