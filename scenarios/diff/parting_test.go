package diff

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
)

const first = `{"step":1,"at_ns":1000,"node":"n-1","kind":"start","outcome":"ok"}
`

func parting(t *testing.T, a, b string) *Parting {
	p, err := partingOf(strings.NewReader(a), strings.NewReader(b))
	require.NoError(t, err)
	return p
}

func TestARunThatIsOverPartsToo(t *testing.T) {
	const second = `{"step":2,"at_ns":2000,"node":"n-1","kind":"redis","name":"get","target":"k","outcome":"nil"}
`
	p := parting(t, first+second, first)
	assert.Equal(t, 2, p.Step)
	assert.Equal(t, "n-1: redis get k: nil", p.A.Says)
	assert.Nil(t, p.B)
	assert.Empty(t, p.Differ)
	assert.Equal(t, 2*time.Microsecond, p.At())
	assert.Equal(t, 2*time.Microsecond, parting(t, "", first+second).At()+time.Microsecond)
	assert.Nil(t, parting(t, first, first))
}

func TestFieldsOfEventsThatSayTheSame(t *testing.T) {
	event := func(at, changes string) string {
		return `{"step":1,"at_ns":` + at + `,"kind":"redis","name":"set","target":"k","outcome":"ok","changes":[` + changes + `]}` + "\n"
	}
	p := parting(t, event("5", `{"key":"k","value":"1"},{"key":"l","value":"2"}`), event("6", `{"key":"k","value":"1"},{"key":"l","value":"3","expires_ns":60000000006}`))
	assert.Equal(t, p.A.Says, p.B.Says)
	assert.Equal(t, []Value{{Key: "at", A: "0s", B: "0s, 1ns later"}, {Key: Changes, A: "l = 2", B: "l = 3 for 1m0s"}}, p.Differ)

	p = parting(t, event("6", `{"key":"l","value":"2","expires_ns":60000000006}`), event("5", `{"key":"l","value":"2","expires_ns":60000000005}`))
	assert.Equal(t, []Value{{Key: "at", A: "0s, 1ns later", B: "0s"}}, p.Differ, "it lasts as long in both")

	p = parting(t, event("5", `{"key":"k","gone":true},{"stream":"S","seq":2,"subject":"x","header":{"H":"v"}}`), event("5", `{"stream":"S","seq":2,"subject":"x","header":{"H":"v"}},{"key":"k","gone":true}`))
	assert.Equal(t, []Value{{Key: Changes, A: "k gone; S seq 2 on x H: v", B: "S seq 2 on x H: v; k gone"}}, p.Differ)
}

func TestALineThatIsNoEvent(t *testing.T) {
	_, err := partingOf(strings.NewReader(first+"{\n"), strings.NewReader(first))
	require.ErrorContains(t, err, "line 2 of A: ")
}

func TestStoriesOnOneAxis(t *testing.T) {
	story := func(telling ...string) *scenarios.Result {
		res := &scenarios.Result{Telling: telling}
		for i := range len(telling) - 1 {
			res.TellingAt = append(res.TellingAt, scenarios.ToldAt{Step: 10 * (i + 1), At: time.Duration(10 * (i + 1))})
		}
		return res
	}
	a, b := story("before", "both say", "a says", "the end"), story("before", "b says", "both say", "twice", "twice", "the end")
	b.TellingAt[1].Step, b.TellingAt[4].Violates = 0, "x"
	var said []string
	before, after := together(a, b, &Parting{Step: 11, A: &Point{At: 11}, B: &Point{At: 12}})
	for _, told := range after {
		said = append(said, told.Of()+" "+told.Says+" "+told.Violates())
	}
	assert.Equal(t, []Told{{Says: "before", A: &Moment{Step: 10, At: 10}, B: &Moment{Step: 10, At: 10}}}, before)
	assert.Equal(t, []string{"B b says ", "both both say ", "A a says ", "B twice ", "B twice x", "both the end "}, said)
}
