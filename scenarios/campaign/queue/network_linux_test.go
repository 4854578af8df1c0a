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
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/campaign/internal/namespace"
	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

// Each machine has a network of its own. Half of them have their cables cut with chunks in hand, for longer than a chunk waits:
// somebody else does those, and who is back stores what it has done meanwhile, and goes on.
func TestMachinesWithNetworksOfTheirOwn(t *testing.T) {
	race.SkipLong(t)
	namespace.WithNetwork(t, func(n *namespace.Network) {
		const runs = 24
		want := alone(t, clean(runs))
		for _, machines := range numbers() {
			s := startServer(t, func(o *server.Options) { o.Host = "0.0.0.0" })
			conn := dialled(t, s)
			plugged := func(count int, role, arg string) (list []*program, cables []namespace.Cable) {
				for range count {
					cmd := exec.Command(os.Args[0], role, fmt.Sprintf("nats://%s:%d", n.Next(), s.opts.Port), arg)
					cmd.Stderr = t.Output()
					cable, err := n.Plug(cmd)
					list, cables = append(list, watched(t, cmd)), append(cables, cable)
					require.NoError(t, err)
				}
				return list, cables
			}
			dir, mayRun := begun(t, clean(runs)), filepath.Join(t.TempDir(), "may-run")
			isOver := func() bool { return there(filepath.Join(dir, campaign.ResultFile)) }
			coordinator := process(t, asLingerer, s.url(), dir, "2") // so that the streams can be looked at
			cut, cables := plugged((machines+1)/2, asSlowMachine, mayRun)
			coordinator.until(t, func() bool { return inHand(t, conn) >= len(cut) })
			for _, cable := range cables {
				require.NoError(t, cable.Cut())
			}
			others, _ := plugged(machines-len(cut), asMachine, "")
			if len(others) > 0 {
				coordinator.until(t, isOver)
			} else {
				time.Sleep(soon + soon/2)
			}
			require.NoError(t, os.WriteFile(mayRun, nil, 0o644))
			for _, cable := range cables {
				require.NoError(t, cable.Mend())
			}
			coordinator.until(t, func() bool { return isOver() && (len(others) == 0 || isDoneAgain(t, conn, cut, others)) })
			coordinator.kill()
			process(t, asCoordinator, s.url(), dir, "2").ends(t)
			assert.Equal(t, want, resultOf(t, dir), "of %d machines", machines)
			nothingLeft(t, s)
			for _, machine := range slices.Concat(cut, others) {
				machine.kill()
			}
		}
	})
}

// inHand is how many chunks machines have in hand.
func inHand(t *testing.T, conn *Conn) (n int) {
	for name := range conn.js.StreamNames(t.Context(), jetstream.WithStreamListSubject(anyChunk)).Name() {
		if chunks, err := conn.js.Consumer(t.Context(), name, consumerName); err == nil { // it may not be there yet
			n += chunks.CachedInfo().NumAckPending
		}
	}
	return n
}

// isDoneAgain says whether one machine has stored a run after another had.
func isDoneAgain(t *testing.T, conn *Conn, machines, others []*program) bool {
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
