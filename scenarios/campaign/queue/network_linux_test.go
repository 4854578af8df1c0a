package queue

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/campaign/internal/namespace"
)

// Each machine has a network of its own. The cables of half of them are cut for longer than a chunk waits for them: somebody else
// does what they have in hand, and who is back stores what it has done meanwhile, and goes on.
func TestMachinesWithNetworksOfTheirOwn(t *testing.T) {
	namespace.WithNetwork(t, func(n *namespace.Network) {
		const runs = 24
		want := alone(t, clean(runs))
		for _, machines := range []int{1, 3, 8} {
			s := startServer(t, func(o *server.Options) { o.Host = "0.0.0.0" })
			var list []*program
			var cables []namespace.Cable
			for range machines {
				cmd := exec.Command(os.Args[0], asMachine, fmt.Sprintf("nats://%s:%d", n.Next(), s.opts.Port))
				cmd.Stderr = t.Output()
				cable, err := n.Plug(cmd)
				list, cables = append(list, watched(t, cmd)), append(cables, cable)
				require.NoError(t, err)
			}
			dir := begun(t, clean(runs))
			coordinator := process(t, asLingerer, s.url(), dir, "2") // so that the streams can be looked at
			coordinator.until(t, func() bool { return done(t, dir) >= runs/6 })
			cut := (machines + 1) / 2
			for _, cable := range cables[:cut] {
				require.NoError(t, cable.Cut())
			}
			isOver := func() bool { return there(filepath.Join(dir, campaign.ResultFile)) }
			if machines == 1 {
				time.Sleep(soon + soon/2)
			} else {
				coordinator.until(t, isOver) // without those that are cut off
			}
			for _, cable := range cables[:cut] {
				require.NoError(t, cable.Mend())
			}
			coordinator.until(t, isOver)
			if machines > 1 {
				coordinator.until(t, func() bool { return isDoneAgain(t, s, list[:cut], list[cut:]) })
			}
			coordinator.kill()
			process(t, asCoordinator, s.url(), dir, "2").ends(t)
			assert.Equal(t, want, resultOf(t, dir), "of %d machines", machines)
			nothingLeft(t, s)
			for _, machine := range list {
				machine.kill()
			}
		}
	})
}

// isDoneAgain says whether one machine has stored a run after another had.
func isDoneAgain(t *testing.T, s *natsServer, machines, others []*program) bool {
	conn := dialled(t, s)
	defer conn.Close()
	by := map[int]string{}
	isOf := func(list []*program, worker string) bool {
		return slices.ContainsFunc(list, func(p *program) bool { return filepath.Base(worker) == fmt.Sprint(p.Process.Pid) })
	}
	for info := range conn.js.ListStreams(t.Context()).Info() {
		stream, err := conn.js.Stream(t.Context(), info.Config.Name)
		require.NoError(t, err)
		for n := range info.State.LastSeq {
			msg, err := stream.GetMsg(t.Context(), n+1)
			var m runMessage
			if err != nil || json.Unmarshal(msg.Data, &m) != nil || m.Record == nil {
				continue // it is a chunk, or the job
			}
			if isOf(machines, m.Worker) && isOf(others, by[m.Record.N]) {
				return true
			}
			by[m.Record.N] = m.Worker
		}
	}
	return false
}
