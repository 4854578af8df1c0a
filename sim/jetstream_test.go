package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// steps runs one actor on a stream S of subjects s.>, and returns its steps as "kind name target".
func steps(t *testing.T, actor func(ctx context.Context, js jetstream.JetStream, p *sim.Process)) (list []string) {
	t.Helper()
	_, err := sim.Run(sim.Config{Seed: 1, Observe: func(e *sim.Event) {
		list = append(list, fmt.Sprint(e.Kind, " ", e.Name, " ", e.Target, " ", e.Seq, "/", e.Delivered))
		if e.Answers != 0 {
			assert.Equal(t, fmt.Sprint("deliver  ", e.Target, " ", e.Seq, "/", e.Delivered), list[e.Answers-1], "what it answers")
		}
		switch e.Kind {
		case sim.KindAck, sim.KindNak, sim.KindTerm, sim.KindProgress:
			assert.NotZero(t, e.Answers)
		}
	}}, func(w *sim.World) error {
		_, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{
			Name: "S", Subjects: []string{"s.>"}, AllowDirect: true, Storage: jetstream.MemoryStorage,
		})
		require.NoError(t, err)
		done := false
		w.Node("n", func(p *sim.Process) { actor(p.Context(), p.JetStream(), p); done = true }).Start()
		require.Equal(t, sim.StopDone, w.Step(time.Hour, func() bool { return done }))
		return w.CheckTruth()
	})
	require.NoError(t, err)
	return list
}

func TestEveryManagementCallIsAStep(t *testing.T) {
	list := steps(t, func(ctx context.Context, js jetstream.JetStream, p *sim.Process) {
		made, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "T", Subjects: []string{"t"}, Storage: jetstream.MemoryStorage})
		require.NoError(t, err)
		_, err = js.UpdateStream(ctx, jetstream.StreamConfig{Name: "T", Subjects: []string{"t", "u"}, Storage: jetstream.MemoryStorage})
		require.NoError(t, err)
		_, err = made.Info(ctx)
		require.NoError(t, err)
		s, err := js.Stream(ctx, "S")
		require.NoError(t, err)
		_, err = js.Stream(ctx, "none")
		require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
		_, err = js.Publish(ctx, "s.a", []byte("x"))
		require.NoError(t, err)
		m, err := s.GetMsg(ctx, 1)
		require.NoError(t, err)
		assert.Equal(t, "x", string(m.Data))
		_, err = s.GetLastMsgForSubject(ctx, "s.a")
		require.NoError(t, err)
		cfg := jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy}
		_, err = s.CreateConsumer(ctx, cfg)
		require.NoError(t, err)
		_, err = s.CreateOrUpdateConsumer(ctx, cfg)
		require.NoError(t, err)
		_, err = js.UpdateConsumer(ctx, "S", cfg)
		require.NoError(t, err)
		_, err = js.CreateConsumer(ctx, "S", cfg)
		require.NoError(t, err)
		c, err := s.Consumer(ctx, "c")
		require.NoError(t, err)
		info, err := c.Info(ctx)
		require.NoError(t, err)
		assert.EqualValues(t, 1, info.NumPending)
		var listed []string
		for name := range js.StreamNames(ctx).Name() {
			listed = append(listed, name)
		}
		for info := range js.ListStreams(ctx).Info() {
			listed = append(listed, info.Config.Name)
		}
		for name := range s.ConsumerNames(ctx).Name() {
			listed = append(listed, name)
		}
		for info := range s.ListConsumers(ctx).Info() {
			listed = append(listed, info.Name)
		}
		assert.Equal(t, []string{"S", "T", "S", "T", "c", "c"}, listed)
		_, err = s.ResetConsumer(ctx, "c")
		require.NoError(t, err)
		_, err = js.ResetConsumerToSequence(ctx, "S", "c", 1)
		require.NoError(t, err)
		require.NoError(t, js.DeleteConsumer(ctx, "S", "c"))
		name, err := js.StreamNameBySubject(ctx, "s.a")
		require.NoError(t, err)
		assert.Equal(t, "S", name)
		_, err = js.AccountInfo(ctx)
		require.NoError(t, err)
		c, err = s.CreateConsumer(ctx, cfg)
		require.NoError(t, err)
		_, err = js.PauseConsumer(ctx, "S", "c", p.Clock().Now().Add(time.Hour))
		require.NoError(t, err)
		_, err = js.ResumeConsumer(ctx, "S", "c")
		require.NoError(t, err)
		u, err := s.UpdateConsumer(ctx, cfg)
		require.NoError(t, err)
		assert.IsType(t, c, u, "what it returns is gated, too")
		require.NoError(t, s.DeleteConsumer(ctx, "c"))
		require.NoError(t, s.DeleteMsg(ctx, 1))
		_, err = js.Publish(ctx, "s.a", []byte("y"))
		require.NoError(t, err)
		require.NoError(t, s.SecureDeleteMsg(ctx, 2))
		require.NoError(t, s.Purge(ctx))
		require.NoError(t, js.DeleteStream(ctx, "T"))
	})
	assert.Equal(t, []string{
		"start   0/0", "api CreateStream T 0/0", "api UpdateStream T 0/0", "api StreamInfo T 0/0", "api Stream S 0/0", "api Stream none 0/0",
		"publish  s.a 0/0", "api GetMsg S/1 0/0", "api GetLastMsgForSubject S/s.a 0/0", "api CreateConsumer S/c 0/0",
		"api CreateOrUpdateConsumer S/c 0/0", "api UpdateConsumer S/c 0/0", "api CreateConsumer S/c 0/0", "api Consumer S/c 0/0",
		"api ConsumerInfo S/c 0/0", "api StreamNames  0/0", "api ListStreams  0/0", "api ConsumerNames S 0/0", "api ListConsumers S 0/0",
		"api ResetConsumer S/c 0/0", "api ResetConsumerToSequence S/c 0/0", "api DeleteConsumer S/c 0/0",
		"api StreamNameBySubject s.a 0/0", "api AccountInfo  0/0", "api CreateConsumer S/c 0/0", "api PauseConsumer S/c 0/0",
		"api ResumeConsumer S/c 0/0", "api UpdateConsumer S/c 0/0", "api DeleteConsumer S/c 0/0", "api DeleteMsg S/1 0/0", "publish  s.a 0/0",
		"api SecureDeleteMsg S/2 0/0", "api Purge S 0/0", "api DeleteStream T 0/0",
	}, list)
}

func TestEveryWordAboutAMessageIsAStep(t *testing.T) {
	list := steps(t, func(ctx context.Context, js jetstream.JetStream, p *sim.Process) {
		for i := range 5 {
			_, err := js.Publish(ctx, fmt.Sprintf("s.%d", i), nil)
			require.NoError(t, err)
		}
		c, err := js.CreateOrUpdateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute})
		require.NoError(t, err)
		words := []func(jetstream.Msg) error{
			func(m jetstream.Msg) error { return m.Ack() },
			func(m jetstream.Msg) error { return m.Nak() },
			func(m jetstream.Msg) error { return m.NakWithDelay(time.Second) },
			func(m jetstream.Msg) error { return m.Term() },
			func(m jetstream.Msg) error { require.NoError(t, m.InProgress()); return m.TermWithReason("poison") },
		}
		batch, err := c.FetchNoWait(5)
		require.NoError(t, err)
		i := 0
		for m := range batch.Messages() {
			require.NoError(t, words[i](m))
			i++
		}
		require.Equal(t, 5, i)
		for range 2 {
			m, err := c.Next(jetstream.FetchMaxWait(5 * time.Second))
			require.NoError(t, err)
			require.NoError(t, m.DoubleAck(ctx))
		}
		_, err = c.Next(jetstream.FetchMaxWait(5 * time.Second))
		require.Error(t, err, "nothing is left")
	})
	assert.ElementsMatch(t, []string{
		"fetch  S/c 0/0", "deliver  s.0 1/1", "ack  s.0 1/1", "deliver  s.1 2/1", "nak  s.1 2/1", "deliver  s.2 3/1", "nak  s.2 3/1",
		"deliver  s.3 4/1", "term  s.3 4/1", "deliver  s.4 5/1", "progress  s.4 5/1", "term  s.4 5/1",
		"fetch  S/c 0/0", "deliver  s.1 2/2", "ack DoubleAck s.1 2/2", "fetch  S/c 0/0", "deliver  s.2 3/2", "ack DoubleAck s.2 3/2",
		"fetch  S/c 0/0", "fetchend  S/c 0/0",
	}, list[7:])
}
