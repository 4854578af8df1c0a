package power

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/internal/interval"
)

const source = `package p

import "log/slog"

type point struct{ X, Y int }

func f(p *point, err error) error {
	if err != nil {
		return err
	}
	p.X = 1
	p.Y = 2
	if p.X < 3 {
		slog.Info("small", "x", p.X)
		g()
	}
	return nil
}

func g() {}
`

func TestMutations(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/p\n\ngo 1.25\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "p.go"), []byte(source), 0o600))
	list, err := Mutations(root, "./...")
	require.NoError(t, err)
	var said []string
	for _, m := range list {
		said = append(said, m.String()+": "+m.Old+" -> "+m.New)
		code, err := m.Apply([]byte(source))
		require.NoError(t, err)
		assert.NotEqual(t, source, string(code))
	}
	assert.Equal(t, []string{
		"p.go:8 ignored: err != nil -> false && err != nil",
		"p.go:11 dropped: p.X = 1 -> ",
		"p.go:11 swapped: p.X = 1\n\tp.Y = 2 -> p.Y = 2\np.X = 1",
		"p.go:11 field: X -> Y",
		"p.go:12 dropped: p.Y = 2 -> ",
		"p.go:12 field: Y -> X",
		"p.go:13 negated: p.X < 3 -> !(p.X < 3)",
		"p.go:13 field: X -> Y",
		"p.go:13 off-by-one: < -> <=",
		"p.go:15 dropped: g() -> ",
	}, said)
	_, err = list[0].Apply([]byte("package p\n"))
	assert.EqualError(t, err, "p.go:8 ignored: "+ErrChanged.Error())
}

func TestADrawIsEvenAndGrows(t *testing.T) {
	var all []Mutation
	for i := range 100 {
		all = append(all, Mutation{Operator: operators[i%2], File: "p.go", Line: i, Offset: i})
	}
	few, many := Draw(all, 1, 10), Draw(all, 1, 20)
	assert.Equal(t, few, many[:10])
	assert.NotEqual(t, few, Draw(all, 2, 10))
	negated := 0
	for _, m := range many {
		if m.Operator == Negated {
			negated++
		}
	}
	assert.Equal(t, 10, negated)
	assert.Len(t, Draw(all, 1, 1000), 100)
}

func TestRates(t *testing.T) {
	row := func(a, b []string) Row {
		return Row{Starts: true, Kills: []Kill{{Search: "a", By: a, Took: 3 * time.Second}, {Search: "b", By: b, Took: time.Second, Changed: 2, First: "late"}}}
	}
	by := []string{"every-job-settles"}
	same := Row{Starts: true, Kills: []Kill{{Search: "a", Unexecuted: true}, {Search: "b"}}}
	unexecuted := Row{Starts: true, Kills: []Kill{{Search: "a", Unexecuted: true}, {Search: "b", Unexecuted: true}}}
	r := &Result{Rows: []Row{row(by, by), row(by, nil), row(nil, nil), same, unexecuted, {}}}
	rates := r.Rates()
	require.Len(t, rates, 3)
	for i, want := range []Rate{{Search: "a", Killed: 2, Median: 3 * time.Second}, {Search: "b", Killed: 1, Median: time.Second}, {Search: "any of them", Killed: 2, Median: 3 * time.Second}} {
		want.Of = 3
		want.Low, want.High = interval.Wilson(float64(want.Killed), 3)
		assert.Equal(t, want, rates[i])
	}
	require.Len(t, r.Survivors(), 1)
	runs, search, plan := r.Survivors()[0].Changed()
	assert.Equal(t, []any{2, "b", "late"}, []any{runs, search, plan})
	assert.Equal(t, []Row{same, unexecuted}, r.Unchanging())
	assert.Equal(t, []Row{unexecuted}, r.Unexecuted())
	r.Rows[0].Kills[0].FalseKills, r.Rows[2].Kills[1].FalseKills = 1, 2
	assert.Equal(t, 3, r.FalseKills())
	assert.Len(t, r.Survivors(), 1)
	assert.Empty(t, (&Result{}).Rates())
}
