//go:build unix

package queue

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

var nights = flag.Int("nights", 3, "campaigns in which machines, the coordinator and the server are killed")

// A night: so many runs by so many machines, of which a fifth are killed, as is the coordinator, and the server starts anew.
const (
	nightRuns        = 60
	nightMachines    = 5
	machinesKilled   = 1 + nightMachines/5
	coordinatorKills = 5
	serverRestarts   = 2
)

func TestWhoeverIsKilledNothingIsLost(t *testing.T) {
	want := alone(t, finding(nightRuns))
	for i := range *nights {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) { night(t, rand.New(rand.NewPCG(uint64(i), 1)), want) })
	}
}

// night runs a campaign, and kills somebody each time that so many more runs are in the journal as it draws.
func night(t *testing.T, chance *rand.Rand, want string) {
	s := startServer(t, nil)
	var machines []*exec.Cmd
	for range nightMachines {
		machines = append(machines, process(t, asMachine, s.url()))
	}
	dir := begun(t, finding(nightRuns))
	coordinator := func() *exec.Cmd { return process(t, asCoordinator, s.url(), dir, "2") }
	c := coordinator()
	var events []func()
	for range machinesKilled {
		events = append(events, func() {
			i := chance.IntN(len(machines))
			kill(machines[i])
			machines[i] = process(t, asMachine, s.url())
		})
	}
	for range coordinatorKills {
		events = append(events, func() {
			kill(c)
			c = coordinator()
		})
	}
	for range serverRestarts {
		events = append(events, func() {
			s.stop()
			s.start(t)
		})
	}
	chance.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	at := make([]int, len(events)) // in runs that are done, up to five sixths of all
	for i := range at {
		at[i] = i*nightRuns*5/6/len(events) + chance.IntN(nightRuns/len(events))
	}
	for i, event := range events {
		for done(t, dir) < at[i] {
			time.Sleep(5 * time.Millisecond)
		}
		event()
	}
	require.NoError(t, c.Wait())
	assert.Equal(t, want, resultOf(t, dir))
	data, err := os.ReadFile(filepath.Join(dir, campaign.JournalFile))
	require.NoError(t, err)
	assert.Equal(t, nightRuns, bytes.Count(data, []byte(`"record":`)), "each run is there once")
	nothingLeft(t, s)
}

// done is how many runs are in the journal.
func done(t *testing.T, dir string) int {
	n, err := campaign.Done(dir)
	require.NoError(t, err)
	return n
}
