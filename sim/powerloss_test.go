package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// What was stored within the lag is gone, though its publisher has its ack; what comes next has its
// sequences, and is delivered to a consumer that had got further.
func TestPowerLossTakesTheStreamsTail(t *testing.T) {
	for _, c := range []struct {
		lag  time.Duration
		sync bool // SyncAlways: nothing is lost
		kept int
	}{{time.Millisecond, false, 9}, {3500 * time.Millisecond, false, 6}, {time.Hour, false, 0}, {time.Hour, true, 9}} {
		t.Run(fmt.Sprint(c.lag, c.sync), func(t *testing.T) {
			lag, kept := c.lag, c.kept
			var delivered, lost, stored []string
			_, err := sim.Run(sim.Config{SyncAlways: c.sync, Observe: func(e *sim.Event) {
				for _, c := range e.Changes {
					switch {
					case c.Gone:
						assert.Equal(t, "power-loss nats", e.Name+" "+e.Target)
						lost = append(lost, fmt.Sprintf("%s/%d %s", c.Stream, c.Seq, c.Subject))
					case c.Stream != "":
						stored = append(stored, fmt.Sprintf("%d:%s", c.Seq, c.Value))
					}
				}
			}}, func(w *sim.World) error {
				ctx := context.Background()
				_, err := w.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Storage: jetstream.FileStorage})
				require.NoError(t, err)
				_, err = w.JetStream().CreateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy})
				require.NoError(t, err)
				w.Node("consumer", func(p *sim.Process) {
					for p.Context().Err() == nil {
						c, err := p.JetStream().Consumer(p.Context(), "S", "c")
						if err != nil {
							p.Clock().Sleep(100 * time.Millisecond)
							continue
						}
						m, err := c.Next(jetstream.FetchMaxWait(time.Minute))
						if err != nil {
							p.Clock().Sleep(100 * time.Millisecond)
							continue
						}
						delivered = append(delivered, string(m.Data()))
						_ = m.Ack()
					}
				}).Start()
				w.Node("publisher", func(p *sim.Process) {
					for i := range 12 {
						p.Clock().Sleep(time.Second)
						if i == 9 {
							p.Clock().Sleep(10 * time.Second)
						}
						_, err := p.JetStream().Publish(p.Context(), "s.x", fmt.Append(nil, i+1))
						assert.NoError(t, err)
					}
				}).Start()
				w.At(9*time.Second+600*time.Millisecond, "power-loss", sim.NATS, func() { w.LosePowerNATS(lag, time.Second, nil) })
				w.Step(time.Minute, nil)
				s, err := w.JetStream().Stream(ctx, "S")
				require.NoError(t, err)
				assert.EqualValues(t, kept+3, s.CachedInfo().State.Msgs)
				assert.EqualValues(t, kept+3, s.CachedInfo().State.LastSeq)
				c, err := s.Consumer(ctx, "c")
				require.NoError(t, err)
				assert.EqualValues(t, kept+3, c.CachedInfo().AckFloor.Stream)
				return w.CheckTruth()
			})
			require.NoError(t, err)
			var gone []string
			for seq := kept + 1; seq <= 9; seq++ {
				gone = append(gone, fmt.Sprintf("S/%d s.x", seq))
			}
			assert.Equal(t, gone, lost)
			assert.Equal(t, []string{fmt.Sprintf("%d:10", kept+1), fmt.Sprintf("%d:11", kept+2), fmt.Sprintf("%d:12", kept+3)}, stored[9:])
			assert.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}, delivered)
		})
	}
}

// nats-server stores what a consumer had delivered, and redelivers it by its sequence, whatever has that sequence since.
// The operation is no phase of the message's job, and its name is the consumer's.
func TestALostMessagesConsumerHandsOutAnothersMessage(t *testing.T) {
	var got, ops []string
	cfg := sim.Config{
		MsgTags: func(string, nats.Header, []byte) sim.Tags { return sim.Tags{Phase: "sent"} },
		Observe: func(e *sim.Event) {
			if e.Kind == sim.KindDeliver || e.Kind == sim.KindAck {
				ops = append(ops, fmt.Sprintf("%s: %s %s %d %s", e.Node, e.Phase, e.Target, e.Seq, e.Name))
			}
		},
	}
	_, err := sim.Run(cfg, func(w *sim.World) error {
		_, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Storage: jetstream.FileStorage})
		require.NoError(t, err)
		for _, name := range []string{"a", "b"} {
			_, err = w.JetStream().CreateConsumer(context.Background(), "S", jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: "s." + name})
			require.NoError(t, err)
			w.Node(name, func(p *sim.Process) {
				for p.Context().Err() == nil {
					c, err := p.JetStream().Consumer(p.Context(), "S", name)
					if err == nil {
						var m jetstream.Msg
						if m, err = c.Next(jetstream.FetchMaxWait(time.Minute)); err == nil {
							got = append(got, name+" "+string(m.Data()))
							if string(m.Data()) != "2" {
								assert.NoError(t, m.Ack())
							}
						}
					}
					if err != nil {
						p.Clock().Sleep(100 * time.Millisecond)
					}
				}
			}).Start()
		}
		w.Node("publisher", func(p *sim.Process) {
			for i, subject := range []string{"s.b", "s.a", "s.b"} {
				p.Clock().Sleep(5 * time.Second)
				_, err := p.JetStream().Publish(p.Context(), subject, fmt.Append(nil, i+1))
				assert.NoError(t, err)
			}
		}).Start()
		w.At(11*time.Second, "power-loss", sim.NATS, func() { w.LosePowerNATS(2*time.Second, time.Second, nil) })
		w.Step(5*time.Minute, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"b 1", "a 2", "b 3", "a 3"}, got)
	assert.Equal(t, []string{
		"b: sent_deliver s.b 1 ", "b: sent_ack s.b 1 ", "a: sent_deliver s.a 2 ",
		"b: sent_deliver s.b 2 ", "b: sent_ack s.b 2 ", "a:  s.b 2 S/a", "a:  s.b 2 S/a",
	}, ops)
}

func TestSameSeedSameTraceOverADeathOfNATS(t *testing.T) {
	for name, die := range map[string]func(*sim.World){
		"power-loss": func(w *sim.World) { w.LosePowerNATS(2*time.Second, time.Second, nil) },
		"kill":       func(w *sim.World) { w.KillNATS(time.Second, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			alike(t, func(w *sim.World) error {
				w.At(8*time.Second, name, sim.NATS, func() { die(w) })
				_, err := shop(w, 5*time.Second, 3*time.Second)
				return err
			})
		})
	}
}

// A nats-server that is killed has all messages, and has forgotten what was acknowledged in the last tenth of a second. One
// that is stopped has not.
func TestAKilledServerForgetsTheLastAcks(t *testing.T) {
	for _, killed := range []bool{false, true} {
		for _, age := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond} {
			t.Run(fmt.Sprint(killed, age), func(t *testing.T) {
				var delivered []string
				_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
					ctx := context.Background()
					_, err := w.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.FileStorage})
					require.NoError(t, err)
					_, err = w.JetStream().CreateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second})
					require.NoError(t, err)
					w.Node("consumer", func(p *sim.Process) {
						for p.Context().Err() == nil {
							c, err := p.JetStream().Consumer(p.Context(), "S", "c")
							if err == nil {
								var m jetstream.Msg
								if m, err = c.Next(jetstream.FetchMaxWait(time.Minute)); err == nil {
									delivered = append(delivered, string(m.Data()))
									_ = m.Ack()
								}
							}
							if err != nil {
								p.Clock().Sleep(100 * time.Millisecond)
							}
						}
					}).Start()
					w.At(time.Second, "publish", "s", func() { _, _ = w.JetStream().Publish(ctx, "s", []byte("1")) })
					w.At(time.Second+age, "die", sim.NATS, func() {
						if killed {
							w.KillNATS(time.Second, nil)
						} else {
							w.RestartNATS(time.Second, nil)
						}
					})
					w.Step(time.Minute, nil)
					s, err := w.JetStream().Stream(ctx, "S")
					require.NoError(t, err)
					assert.EqualValues(t, 1, s.CachedInfo().State.Msgs)
					return nil
				})
				require.NoError(t, err)
				want := []string{"1"}
				if killed && age < 100*time.Millisecond {
					want = append(want, "1")
				}
				assert.Equal(t, want, delivered)
			})
		}
	}
}

// A stream's files are blocks of 8 MB; those behind the first that is cut go whole.
func TestPowerLossTakesWholeBlocks(t *testing.T) {
	var lost int
	_, err := sim.Run(sim.Config{Observe: func(e *sim.Event) {
		for _, c := range e.Changes {
			if c.Gone {
				lost++
			}
		}
	}}, func(w *sim.World) error {
		ctx := context.Background()
		_, err := w.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.FileStorage})
		require.NoError(t, err)
		w.Node("publisher", func(p *sim.Process) {
			for range 30 {
				p.Clock().Sleep(time.Second)
				_, err := p.JetStream().Publish(p.Context(), "s", make([]byte, 900_000))
				assert.NoError(t, err)
			}
		}).Start()
		w.At(30*time.Second+500*time.Millisecond, "power-loss", sim.NATS, func() { w.LosePowerNATS(25*time.Second, time.Second, nil) })
		w.Step(time.Minute, nil)
		s, err := w.JetStream().Stream(ctx, "S")
		require.NoError(t, err)
		assert.EqualValues(t, 5, s.CachedInfo().State.Msgs)
		return w.CheckTruth()
	})
	require.NoError(t, err)
	assert.Equal(t, 25, lost)
}

func TestPowerLossOfAStreamFromWhichMessagesWereRemoved(t *testing.T) {
	_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
		ctx := context.Background()
		s, err := w.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.FileStorage})
		require.NoError(t, err)
		for range 3 {
			_, err = w.JetStream().Publish(ctx, "s", nil)
			require.NoError(t, err)
		}
		require.NoError(t, s.DeleteMsg(ctx, 2))
		w.Step(time.Second, nil)
		assert.PanicsWithValue(t, "sim: stream S loses its tail by a power loss, but messages were removed from it, of which its files tell too little",
			func() { w.LosePowerNATS(time.Second, time.Second, nil) })
		return nil
	})
	require.NoError(t, err)
}
