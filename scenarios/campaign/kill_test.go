//go:build unix

package campaign

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

// apartMax is how many runs and trials there are between two kills at most.
const apartMax = 6

func TestKilledAtAnyMomentACampaignLosesNothing(t *testing.T) {
	race.SkipLong(t)
	t.Parallel()
	kills, runs := 30, 150
	if testing.Short() {
		kills, runs = 12, 60
	}
	spec := breaking(runs)
	want := undisturbed(t, spec)
	dir, temp := begun(t, spec), t.TempDir()
	chance := rand.New(rand.NewPCG(1, 2))
	c := startCampaign(t, dir, temp)
	supervisors, workers := 0, 0
	for supervisors+workers < kills {
		for left := chance.IntN(apartMax); left >= 0 && c.listen(); {
			if c.last.Done {
				left--
			}
		}
		if c.over {
			break
		}
		if chance.IntN(2) == 0 {
			if syscall.Kill(c.last.Worker, syscall.SIGKILL) == nil {
				workers++
			}
			continue
		}
		supervisors++
		c.kill(t)
		c = startCampaign(t, dir, temp)
	}
	assert.False(t, c.over, "the campaign was over before all kills were: %d supervisors, %d workers", supervisors, workers)
	t.Logf("killed: %d supervisors, %d workers", supervisors, workers)
	for c.listen() {
	}
	require.NoError(t, c.cmd.Wait())
	got, err := os.ReadFile(filepath.Join(dir, ResultFile))
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
	journaled(t, dir, runs)
}

// journaled checks that each run is in the journal once.
func journaled(t *testing.T, dir string, runs int) {
	data, err := os.ReadFile(filepath.Join(dir, JournalFile))
	require.NoError(t, err)
	seen := map[int]int{}
	for line := range bytesLines(data) {
		var e entry
		require.NoError(t, json.Unmarshal(line, &e))
		if e.Record != nil {
			seen[e.Record.N]++
		}
	}
	assert.Len(t, seen, runs)
	for n, times := range seen {
		assert.Equal(t, 1, times, "run %d", n)
	}
}

// theirs is a campaign in a process of its own.
type theirs struct {
	cmd  *exec.Cmd
	out  *json.Decoder
	last talk
	over bool
}

func startCampaign(t *testing.T, dir, temp string) *theirs {
	c := &theirs{cmd: exec.Command(os.Args[0], asCampaign, dir)}
	c.cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.out = json.NewDecoder(bufio.NewReader(out))
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	return c
}

// listen takes the next thing it says; false if it has ended.
func (c *theirs) listen() bool {
	c.over = c.out.Decode(&c.last) != nil
	return !c.over
}

func (c *theirs) kill(t *testing.T) {
	require.NoError(t, c.cmd.Process.Kill())
	_ = c.cmd.Wait()
}

// A worker whose parent is gone ends at once, whatever it does, and leaves nothing behind.
func TestAWorkerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	temp := filepath.Join(t.TempDir(), "all")
	own := filepath.Join(temp, "own")
	require.NoError(t, os.MkdirAll(own, 0o755))
	cmd := exec.Command(os.Args[0], asWorker, "loop")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "TMPDIR="+own)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	o := Orders{Spec: meeting(), Stall: 1 << 40, MemoryMax: 1 << 30}
	tasks, answers := json.NewEncoder(in), json.NewDecoder(out)
	require.NoError(t, tasks.Encode(hello{o, own}))
	require.NoError(t, tasks.Encode(Assignment{First: 1, Count: 1, Steps: true}))
	for a := (Answer{}); a.Step < 40; a = (Answer{}) { // it is about to loop
		require.NoError(t, answers.Decode(&a))
		require.Empty(t, a.Problem)
		if a.Step >= 40 {
			break
		}
	}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		require.NoError(t, cmd.Process.Signal(s), "signals are for the parent")
	}
	require.NoError(t, in.Close())
	assert.NoError(t, cmd.Wait())
	assert.NoDirExists(t, temp)
}
