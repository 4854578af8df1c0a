//go:build unix

package queue

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

var nights = flag.Int("nights", 3, "campaigns in which machines, the coordinator and the server are killed")

// A night: so many runs by so many machines, of which a fifth are killed, as is the coordinator, and the server starts anew.
// Two of the coordinator's kills come after the last run: while findings are examined, and once there is a result.
const (
	nightRuns        = 60
	nightMachines    = 5
	machinesKilled   = 1 + nightMachines/5
	coordinatorKills = 5
	serverRestarts   = 2
)

func TestWhoeverIsKilledNothingIsLost(t *testing.T) {
	race.SkipLong(t)
	want := alone(t, finding(nightRuns))
	n := *nights
	if testing.Short() {
		n = 1
	}
	for i := range n {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) { night(t, rand.New(rand.NewPCG(uint64(i), 1)), want) })
	}
}

// night runs a campaign, and kills somebody each time that so many more runs are in the journal as it draws.
func night(t *testing.T, chance *rand.Rand, want string) {
	s := startServer(t, nil)
	var machines []*program
	for range nightMachines {
		machines = append(machines, process(t, asMachine, s.url()))
	}
	dir := begun(t, finding(nightRuns))
	kind := []string{asCoordinator, asLingerer}[chance.IntN(2)] // who lingers is killed before it has taken the streams away
	coordinator := func() *program { return process(t, kind, s.url(), dir, "2") }
	c := coordinator()
	var events []func()
	for range machinesKilled {
		events = append(events, func() {
			i := chance.IntN(len(machines))
			machines[i].kill()
			machines[i] = process(t, asMachine, s.url())
		})
	}
	for range coordinatorKills - 2 {
		events = append(events, func() {
			c.kill()
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
		c.until(t, func() bool { return done(t, dir) >= at[i] })
		event()
	}
	journal := filepath.Join(dir, campaign.JournalFile)
	examined := chance.IntN(strings.Count(want, `"file": "findings/`))
	c.until(t, func() bool { return done(t, dir) == nightRuns && count(t, journal, `"examined":`) >= examined })
	c.kill()
	c = coordinator()
	c.until(t, func() bool { return there(filepath.Join(dir, campaign.ResultFile)) })
	c.kill()
	c = process(t, asCoordinator, s.url(), dir, "2")
	c.ends(t)
	assert.Equal(t, want, resultOf(t, dir))
	assert.Equal(t, nightRuns, count(t, journal, `"record":`), "each run is there once")
	nothingLeft(t, s)
}

// A coordinator that died between its result and the end leaves streams, which the next one takes away.
func TestACampaignThatIsOverAlready(t *testing.T) {
	s := startServer(t, nil)
	process(t, asMachine, s.url())
	dir := begun(t, clean(8))
	died := process(t, asLingerer, s.url(), dir, "4")
	died.until(t, func() bool { return there(filepath.Join(dir, campaign.ResultFile)) })
	died.kill()
	streams := 0
	for range dialled(t, s).js.StreamNames(t.Context()).Name() {
		streams++
	}
	require.Equal(t, 3, streams)
	res, err := coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}})
	require.NoError(t, err)
	assert.True(t, res.Complete)
	assert.Equal(t, alone(t, clean(8)), resultOf(t, dir))
	nothingLeft(t, s)

	s.stop()
	var said saying
	res, err = coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}, Say: said.say})
	require.NoError(t, err)
	assert.True(t, res.Complete, "the result is there, whatever is on the server")
	require.Len(t, said.all(), 1)
	assert.Regexp(t, `^campaign [0-9a-f]{16} is over; whether streams of it are left cannot be seen: `+s.url()+` cannot be reached: nobody listens there; `, said.all()[0])
}

// done is how many runs are in the journal.
func done(t *testing.T, dir string) int {
	n, err := campaign.Done(dir)
	require.NoError(t, err)
	return n
}

// count counts a word in a file.
func count(t *testing.T, name, word string) int {
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return strings.Count(string(data), word)
}
