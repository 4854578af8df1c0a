package routing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/routing"
)

func TestHints(t *testing.T) {
	able := func(id string, active int, labels map[string]string, capabilities ...string) job.Heartbeat {
		w := worker(id, active)
		w.Labels, w.Capabilities = labels, capabilities
		return w
	}
	type labels = map[string]string
	for name, c := range map[string]struct {
		labels  labels
		workers []job.Heartbeat
		want    string
		err     error
	}{
		"placement by a label":                      {labels{"placement.zone": "b"}, []job.Heartbeat{able("w1", 0, labels{"zone": "a"}), able("w2", 5, labels{"zone": "b"})}, "w2", nil},
		"placement by a label with dots":            {labels{"placement.topology.rack": "7"}, []job.Heartbeat{able("w1", 0, labels{"rack": "7"}), able("w2", 5, labels{"topology.rack": "7"})}, "w2", nil},
		"a node selector keeps its prefix":          {labels{"node.arch": "arm64"}, []job.Heartbeat{able("w1", 0, labels{"arch": "arm64"}), able("w2", 5, labels{"node.arch": "arm64"})}, "w2", nil},
		"a constraint is a capability":              {labels{"constraint.gpu": "true"}, []job.Heartbeat{able("w1", 0, labels{"gpu": "true"}), able("w2", 5, nil, "fp8", "gpu")}, "w2", nil},
		"an empty constraint is one too":            {labels{"constraint.gpu": ""}, []job.Heartbeat{able("w1", 0, nil), able("w2", 5, nil, "gpu")}, "w2", nil},
		"a constraint with a value":                 {labels{"constraint.cuda": "12"}, []job.Heartbeat{able("w1", 0, nil, "cuda"), able("w2", 5, nil, "cuda=12")}, "w2", nil},
		"no capability is half of another":          {labels{"constraint.cuda": "1"}, []job.Heartbeat{able("w1", 0, nil, "cuda=12"), able("w2", 5, nil, "cuda=1")}, "w2", nil},
		"a constraint that is false is its value":   {labels{"constraint.gpu": "false"}, []job.Heartbeat{able("w1", 0, nil, "gpu"), able("w2", 5, nil, "gpu=false")}, "w2", nil},
		"every hint counts":                         {labels{"placement.zone": "b", "constraint.gpu": "true"}, []job.Heartbeat{able("w1", 0, labels{"zone": "b"}), able("w2", 0, nil, "gpu"), able("w3", 5, labels{"zone": "b"}, "gpu")}, "w3", nil},
		"the least loaded of those that fit":        {labels{"placement.zone": "b"}, []job.Heartbeat{able("w1", 0, nil), able("w2", 5, labels{"zone": "b"}), able("w3", 4, labels{"zone": "b"})}, "w3", nil},
		"nobody fits":                               {labels{"placement.zone": "c"}, []job.Heartbeat{able("w1", 0, labels{"zone": "a"})}, "", routing.ErrNoWorkers},
		"an empty label is a label":                 {labels{"placement.zone": ""}, []job.Heartbeat{able("w1", 0, nil), able("w2", 5, labels{"zone": ""})}, "w2", nil},
		"an empty node label is one too":            {labels{"node.os": ""}, []job.Heartbeat{able("w1", 0, nil), able("w2", 5, labels{"node.os": ""})}, "w2", nil},
		"nobody has such a label":                   {labels{"placement.zone": "c"}, []job.Heartbeat{able("w1", 0, nil)}, "", routing.ErrNoWorkers},
		"who fits is overloaded":                    {labels{"placement.zone": "b"}, []job.Heartbeat{able("w1", 0, nil), able("w2", 9, labels{"zone": "b"})}, "", routing.ErrOverloaded},
		"the preferred worker does not fit":         {labels{"placement.zone": "b", "preferred_worker_id": "w1"}, []job.Heartbeat{able("w1", 0, nil), able("w2", 5, labels{"zone": "b"})}, "w2", nil},
		"the preferred worker fits":                 {labels{"placement.zone": "b", "preferred_worker_id": "w2"}, []job.Heartbeat{able("w1", 0, labels{"zone": "b"}), able("w2", 5, labels{"zone": "b"})}, "w2", nil},
		"who has no address takes no job of a hint": {labels{"placement.zone": "b"}, []job.Heartbeat{able("host.1", 0, labels{"zone": "b"})}, "", routing.ErrNoWorkers},
		"other labels bind nobody":                  {labels{"team": "mail", "zone": "b", "placement": "b"}, []job.Heartbeat{able("w1", 0, nil)}, "w1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			req := job.Request{JobID: "job-1", Topic: "job.default", Labels: c.labels}
			pick, err := pickFirst(strategy(t, routing.Config{}), &req, c.workers)
			if c.err != nil {
				assert.ErrorIs(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, pick.WorkerID)
		})
	}
}

// satisfies spells out the hints of Scheduler internals, section 5, on its own.
func satisfies(w job.Heartbeat, labels map[string]string) bool {
	for k, v := range labels {
		has := true
		if key, ok := strings.CutPrefix(k, "placement."); ok {
			has = w.Labels[key] == v
		} else if strings.HasPrefix(k, "node.") {
			has = w.Labels[k] == v
		} else if key, ok := strings.CutPrefix(k, "constraint."); ok && v == "true" {
			has = slices.Contains(w.Capabilities, key)
		} else if ok {
			has = slices.Contains(w.Capabilities, key+"="+v)
		}
		if !has {
			return false
		}
	}
	return true
}

// Whoever is picked satisfies every hint, and nobody who does has less to do; where nobody does there
// is no worker.
func TestWhoeverIsPickedFits(t *testing.T) {
	s := strategy(t, routing.Config{
		Topics: map[string][]string{"job.default": {"default", "gpu"}},
		Pools:  map[string]routing.Pool{"gpu": {Capabilities: []string{"gpu"}}},
	})
	score := func(w job.Heartbeat) float64 {
		return float64(w.ActiveJobs) + w.CPULoad/100 + w.GPUUtilization/100
	}
	rapid.Check(t, func(t *rapid.T) {
		workers := make([]job.Heartbeat, rapid.IntRange(0, 8).Draw(t, "workers"))
		for i := range workers {
			workers[i] = job.Heartbeat{
				WorkerID: fmt.Sprintf("w%d", i), Pool: rapid.SampledFrom([]string{"default", "gpu", "other"}).Draw(t, "pool"),
				ActiveJobs: rapid.IntRange(0, 3).Draw(t, "active"), MaxParallelJobs: 3, CPULoad: rapid.SampledFrom([]float64{0, 50, 100}).Draw(t, "cpu"),
				Labels: map[string]string{
					"zone":      rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone"),
					"node.arch": rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "arch"),
				},
				Capabilities: rapid.SampledFrom([][]string{nil, {"gpu"}, {"gpu", "cuda=12"}}).Draw(t, "capabilities"),
			}
		}
		labels := map[string]string{}
		for _, label := range [][]string{
			{"placement.zone", "a", "b"}, {"node.arch", "arm64"}, {"constraint.gpu", "true"}, {"constraint.cuda", "12"},
			{"preferred_pool", "gpu"}, {"preferred_worker_id", "w1", "w3"},
		} {
			if rapid.IntRange(0, 2).Draw(t, label[0]) == 0 {
				labels[label[0]] = rapid.SampledFrom(label[1:]).Draw(t, "value")
			}
		}
		req := job.Request{JobID: "job-1", Topic: "job.default", Labels: labels}
		pools := []string{"default", "gpu"}
		if rapid.Bool().Draw(t, "requires") {
			req.Requires, pools = []string{"gpu"}, []string{"gpu"}
		} else if labels["preferred_pool"] != "" {
			pools = []string{labels["preferred_pool"]}
		}

		best, free, preferred := -1.0, false, false
		there := false
		for _, w := range workers {
			if !slices.Contains(pools, w.Pool) || !satisfies(w, labels) {
				continue
			}
			there = true
			if float64(w.ActiveJobs)/3 >= 0.9 || w.CPULoad >= 90 {
				continue
			}
			if !free || score(w) < best {
				best, free = score(w), true
			}
			preferred = preferred || w.WorkerID == labels["preferred_worker_id"]
		}
		pick, err := pickFirst(s, &req, workers)
		switch {
		case !there:
			require.ErrorIs(t, err, routing.ErrNoWorkers)
			require.Equal(t, "no_workers", routing.ReasonCode(err))
			return
		case !free:
			require.ErrorIs(t, err, routing.ErrOverloaded)
			return
		}
		require.NoError(t, err)
		i := slices.IndexFunc(workers, func(w job.Heartbeat) bool { return w.WorkerID == pick.WorkerID })
		require.GreaterOrEqual(t, i, 0)
		require.True(t, satisfies(workers[i], labels), "%v %v", workers[i], labels)
		require.Contains(t, pools, workers[i].Pool)
		if preferred {
			require.Equal(t, labels["preferred_worker_id"], pick.WorkerID)
		} else {
			require.InDelta(t, best, score(workers[i]), 0)
		}
	})
}
