package queue

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign/internal/namespace"
)

// Each machine has a network of its own, and its cable may be cut for longer than a chunk waits for it: somebody else does that
// chunk, and who is back goes on.
func TestMachinesWithNetworksOfTheirOwn(t *testing.T) {
	namespace.WithNetwork(t, func(n *namespace.Network) {
		const runs = 40
		want := alone(t, finding(runs))
		for _, machines := range []int{1, 3, 8} {
			s := startServer(t, func(o *server.Options) { o.Host = "0.0.0.0" })
			var list []*exec.Cmd
			var cables []*namespace.Cable
			for range machines {
				cmd := exec.Command(os.Args[0], asMachine, fmt.Sprintf("nats://%s:%d", n.Next(), s.opts.Port))
				cmd.Stderr = t.Output()
				list, cables = append(list, cmd), append(cables, n.Plug(cmd))
				t.Cleanup(func() { kill(cmd) })
			}
			dir := begun(t, finding(runs))
			coordinator := process(t, asCoordinator, s.url(), dir, "3")
			var mending sync.WaitGroup
			for i := range (machines + 1) / 2 {
				for done(t, dir) < (i+1)*runs/machines/2 {
					require.Nil(t, coordinator.ProcessState)
					time.Sleep(5 * time.Millisecond)
				}
				cables[i].Set("down")
				mending.Go(func() {
					time.Sleep(soon + soon/2)
					cables[i].Set("up")
				})
			}
			require.NoError(t, coordinator.Wait())
			assert.Equal(t, want, resultOf(t, dir), "of %d machines", machines)
			nothingLeft(t, s)
			mending.Wait()
			for _, machine := range list {
				kill(machine)
			}
		}
	})
}
