package sweep

import (
	"embed"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// builtIn holds the comparisons, and those of their plans that are not named scenarios.
//
//go:embed comparisons/*.yaml cases/*.yaml
var builtIn embed.FS

// comparisonSeeds keeps a table of small runs within half a minute on two cores.
const comparisonSeeds = 30

// Comparisons lists the documentation's tables of alternatives, in the order of its documents.
func Comparisons() (list []*Alternatives) {
	for _, name := range []string{"dispatch-order", "state-read", "stale-worker", "dead-letter-replay", "durability"} {
		list = append(list, comparison("comparisons/"+name+".yaml"))
	}
	return list
}

// comparison reads one comparison. It panics on errors, since the files are part of the binary. It drops the
// plans' expectations, which are for other settings, so every promise is judged as it is given.
func comparison(file string) *Alternatives {
	a := &Alternatives{Version: DefinitionVersion, Seeds: comparisonSeeds, FirstSeed: 1}
	data := must(builtIn.ReadFile(file))
	if err := (strictyaml.Kind{What: "a comparison"}).Read(file, data, a, func() *strictyaml.Error { return nil }); err != nil {
		panic(err)
	}
	for i, c := range a.Plans {
		text, ok := plans.Source(c.Name)
		if !ok {
			text = string(must(builtIn.ReadFile("cases/" + c.Name + ".yaml")))
		}
		plan := must(plans.Parse(c.Name+".yaml", []byte(text)))
		plan.Expect = plans.Expect{}
		a.Plans[i].Plan = string(must(plans.Marshal(plan)))
	}
	return a
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
