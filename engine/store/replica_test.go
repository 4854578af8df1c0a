package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/phase"
)

// replicated answers as a master with replicas does, in the place of a server.
type replicated struct {
	id        string
	replicas  []string // their states
	confirmed int64    // what WAIT says
	err       error    // what every command says instead
	asked     []string // of each WAIT, for how many
}

func (r *replicated) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *replicated) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { return r.answer(cmd) }
}

func (r *replicated) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) (err error) {
		for _, cmd := range cmds {
			err = errors.Join(err, r.answer(cmd))
		}
		return err
	}
}

func (r *replicated) answer(cmd redis.Cmder) error {
	if r.err != nil {
		cmd.SetErr(r.err)
		return r.err
	}
	switch cmd := cmd.(type) {
	case *redis.StringCmd:
		info := "# Replication\r\nrole:master\r\n"
		for i, state := range r.replicas {
			info += fmt.Sprintf("slave%d:ip=10.0.0.%d,port=6379,state=%s,offset=157,lag=0\r\n", i, i, state)
		}
		cmd.SetVal(info + "master_replid:" + r.id + "\r\nmaster_replid2:0\r\n")
	case *redis.Cmd:
		r.asked = append(r.asked, fmt.Sprint(cmd.Args()[1]))
		cmd.SetVal(r.confirmed)
	}
	return nil
}

// refusal is what a server says in the place of an answer.
type refusal string

func (r refusal) Error() string { return string(r) }

func (refusal) RedisError() {}

func TestWhatTheReplicasHave(t *testing.T) {
	fails := errors.New("connection refused")
	for name, c := range map[string]struct {
		then replicated // at the end of a stretch that began with one replica of master a
		is   error
	}{
		"one has it":               {replicated{id: "a", replicas: []string{"online"}, confirmed: 1}, nil},
		"one has not":              {replicated{id: "a", replicas: []string{"online"}, confirmed: 0}, ErrNotReplicated},
		"there is none any more":   {replicated{id: "a", confirmed: 0}, ErrNotReplicated},
		"both have it":             {replicated{id: "a", replicas: []string{"online", "online"}, confirmed: 2}, nil},
		"one of two has it":        {replicated{id: "a", replicas: []string{"online", "online"}, confirmed: 1}, ErrNotReplicated},
		"another is being filled":  {replicated{id: "a", replicas: []string{"online", "wait_bgsave"}, confirmed: 1}, nil},
		"another server is master": {replicated{id: "b", replicas: []string{"online"}, confirmed: 1}, ErrFailedOver},
		"Redis does not answer":    {replicated{err: fails}, fails},
	} {
		t.Run(name, func(t *testing.T) {
			server := &replicated{id: "a", replicas: []string{"online"}}
			client := redis.NewClient(&redis.Options{})
			client.AddHook(server)
			r := &Replica{Redis: client, Timeout: time.Second}
			confirm := r.Since(t.Context(), "job-1")
			*server = c.then
			assert.ErrorIs(t, confirm(phase.With(t.Context(), "job-1", phase.Publish)), c.is)
		})
	}
}

// It waits for as many as it knew of last, and learns from each wait.
func TestEachWaitLearnsOfReplicasAndMasters(t *testing.T) {
	server := &replicated{id: "a", replicas: []string{"online"}, confirmed: 1}
	client := redis.NewClient(&redis.Options{})
	client.AddHook(server)
	r := &Replica{Redis: client, Timeout: time.Second}
	ended := func() error { return r.Since(t.Context(), "job-1")(t.Context()) }
	assert.NoError(t, ended())
	server.replicas = []string{"online", "online"}
	assert.ErrorIs(t, ended(), ErrNotReplicated)
	server.confirmed = 2
	assert.NoError(t, ended())
	server.id = "b"
	assert.ErrorIs(t, ended(), ErrFailedOver)
	assert.NoError(t, ended(), "what begins after a failover is not lost by it")
	assert.Equal(t, []string{"1", "1", "2", "2", "2"}, server.asked)
	n, err := Online(t.Context(), client)
	assert.NoError(t, err)
	assert.Equal(t, 2, n)
}

// A Redis without a replica is not waited for, until it has one; from then on none is too few.
func TestAReplicaIsWaitedForOnceThereIsOne(t *testing.T) {
	server := &replicated{id: "a", replicas: []string{"wait_bgsave"}}
	client := redis.NewClient(&redis.Options{})
	client.AddHook(server)
	r := &Replica{Redis: client, Timeout: time.Second}
	ended := func() error { return r.Since(t.Context(), "job-1")(t.Context()) }
	assert.NoError(t, ended())
	assert.False(t, r.Seen())
	server.err = errors.New("connection refused")
	assert.Error(t, ended(), "what is not known is not taken for none")
	server.err = refusal("ERR section (replication) is not supported")
	assert.NoError(t, ended())
	server.err = refusal("LOADING Redis is loading the dataset in memory")
	assert.Error(t, ended())
	server.err = nil
	during := r.Since(t.Context(), "job-1")
	server.replicas, server.confirmed = []string{"online"}, 1
	assert.NoError(t, ended())
	assert.True(t, r.Seen())
	assert.NoError(t, during(t.Context()), "which waits, too")
	server.replicas, server.confirmed = nil, 0
	assert.ErrorIs(t, ended(), ErrNotReplicated)
}

func TestNoReplicaWaitsForNothing(t *testing.T) {
	assert.NoError(t, (*Replica)(nil).Since(t.Context(), "job-1")(t.Context()))
}
