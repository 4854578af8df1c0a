package audit_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/audit"
)

func put(t *testing.T, c *redis.Client, events ...audit.Event) {
	t.Helper()
	_, err := c.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
		for _, e := range events {
			require.NoError(t, audit.Put(t.Context(), p, e))
		}
		return nil
	})
	require.NoError(t, err)
}

func TestEventsComeInTheirOrder(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer c.Close()
	put(t, c, audit.Event{At: 1, Kind: "approval_granted", JobID: "job-1", Reason: "checked", By: "ops"})
	put(t, c, audit.Event{At: 2, Kind: "quarantined", ReasonCode: "secret_found"})
	trail, err := c.LRange(context.Background(), "cordum:audit", 0, -1).Result()
	require.NoError(t, err)
	assert.Equal(t, []string{
		`{"at":1,"kind":"approval_granted","job_id":"job-1","reason":"checked","by":"ops"}`,
		`{"at":2,"kind":"quarantined","reason_code":"secret_found"}`,
	}, trail)
}

func TestTheTrailIsBounded(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer c.Close()
	for range 11 {
		var batch []audit.Event
		for n := range 1000 {
			batch = append(batch, audit.Event{At: int64(n), Kind: "k"})
		}
		put(t, c, batch...)
	}
	put(t, c, audit.Event{At: 7, Kind: "last"})
	trail, err := c.LRange(context.Background(), audit.Key, 0, -1).Result()
	require.NoError(t, err)
	assert.Len(t, trail, audit.EventsMax)
	assert.Equal(t, fmt.Sprintf(`{"at":%d,"kind":"last"}`, 7), trail[len(trail)-1])
}
