package campaign

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

func TestTheNumberOfWorkersDoesNotMatter(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	spec := breaking(20)
	spec.Seed = 3
	one, two := begun(t, spec), begun(t, spec)
	res, text := ran(t, one, quick(1, ""))
	require.NotEmpty(t, res.Findings)
	assert.Equal(t, 20, res.Runs)
	assert.Zero(t, res.Bound)
	for _, f := range res.Findings {
		assert.FileExists(t, one+"/"+f.File)
	}
	_, again := ran(t, two, quick(2, ""))
	assert.Equal(t, text, again)
}

func TestRecordsComeInOrderAndAgainAfterAResumption(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	spec := small(20)
	want := undisturbed(t, spec)
	dir := begun(t, spec)
	var order []int
	ctx, cancel := context.WithCancel(context.Background())
	opt := quick(2, "")
	opt.Record = func(r *Record) {
		if order = append(order, r.N); len(order) == 10 {
			cancel()
		}
	}
	res, err := Run(ctx, dir, opt)
	require.NoError(t, err)
	assert.False(t, res.Complete)
	assert.Less(t, res.Runs, 20)
	assert.NoFileExists(t, dir+"/"+ResultFile)
	state, err := Look(dir)
	require.NoError(t, err)
	assert.Equal(t, Unfinished, state)

	order = nil
	_, text := ran(t, dir, opt)
	assert.Equal(t, want, text)
	require.Len(t, order, 20)
	for i, n := range order {
		assert.Equal(t, i, n)
	}

	order = nil
	again, text := ran(t, dir, opt)
	assert.Equal(t, want, text, "a campaign that is over is not run again")
	assert.Equal(t, 20, again.Runs)
	assert.Len(t, order, 20)
}

func TestATimeThatIsOverEndsTheCampaign(t *testing.T) {
	t.Parallel()
	spec := small(0)
	spec.Budget = 1
	res, _ := ran(t, begun(t, spec), quick(1, ""))
	assert.Zero(t, res.Runs)
	assert.Zero(t, res.Bound)
}

func TestProgramsThatAreNoWorkers(t *testing.T) {
	t.Parallel()
	for says, command := range map[string][]string{
		"a worker cannot be started (/no/such/program): no such file or directory": {"/no/such/program"},
		"the workers end before they have answered anything":                       {os.Args[0], asNothing},
		": the name of the program is unknown":                                     {os.Args[0], asNothing},
		"campaign: the command that starts a worker is empty":                      nil,
	} {
		_, err := Run(context.Background(), begun(t, small(10)), Options{Workers: 2, Command: command})
		assert.ErrorContains(t, err, says)
	}
}
