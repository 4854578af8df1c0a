package queue

import (
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/internal/race"
)

// startCluster starts three servers that keep streams together.
func startCluster(t *testing.T) []*natsServer {
	t.Helper()
	var routes []*url.URL
	for range replicasMax {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: free.Addr().String()})
		require.NoError(t, free.Close())
	}
	var list []*natsServer
	for i, route := range routes {
		port, err := strconv.Atoi(route.Port())
		require.NoError(t, err)
		list = append(list, startServer(t, func(o *server.Options) {
			o.ServerName, o.Routes = "nats-"+strconv.Itoa(i+1), routes
			o.Cluster = server.ClusterOpts{Name: "wavetank", Host: "127.0.0.1", Port: port}
		}))
	}
	current := func() bool {
		for _, s := range list {
			if s.JetStreamIsLeader() {
				return len(s.JetStreamClusterPeers()) == replicasMax
			}
		}
		return false
	}
	require.Eventually(t, current, 30*time.Second, 20*time.Millisecond)
	return list
}

// In a cluster each stream is on three servers, and each of them may go for a while.
func TestAnyServerOfAClusterMayGo(t *testing.T) {
	race.SkipLong(t)
	const runs = 40
	want := alone(t, clean(runs))
	cluster := startCluster(t)
	urls := cluster[0].url() + "," + cluster[1].url() + "," + cluster[2].url()
	machine := process(t, asMachine, urls)
	dir := begun(t, clean(runs))
	coordinator := process(t, asCoordinator, urls, dir, "2")
	for i, s := range cluster {
		coordinator.until(t, func() bool { return done(t, dir) >= (i+1)*runs/5 })
		if i == 0 {
			js := dialled(t, s).js
			for info := range js.ListStreams(t.Context()).Info() {
				assert.Equal(t, replicasMax, info.Config.Replicas, info.Config.Name)
			}
		}
		s.stop()
		s.start(t)
		require.Eventually(t, s.JetStreamIsCurrent, 30*time.Second, 20*time.Millisecond)
	}
	coordinator.ends(t)
	assert.Equal(t, want, resultOf(t, dir))
	machine.kill()
	nothingLeft(t, cluster[2])
}
