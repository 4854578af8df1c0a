package sim_test

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/sim"
)

// mailer is a service as anyone might write it: it sends a mail for each message, and
// acknowledges the message.
func mailer(p *sim.Process) {
	ctx := p.Context()
	consumer, err := p.JetStream().CreateOrUpdateConsumer(ctx, "ORDERS", jetstream.ConsumerConfig{
		Durable: "mailer", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 30 * time.Second,
	})
	if err != nil {
		panic(err)
	}
	for ctx.Err() == nil {
		batch, err := consumer.Fetch(10, jetstream.FetchMaxWait(time.Minute))
		if err != nil {
			p.Clock().Sleep(time.Second)
			continue
		}
		for msg := range batch.Messages() {
			if p.Redis().Incr(ctx, "mails:"+string(msg.Data())).Err() == nil {
				_ = msg.Ack()
			}
		}
	}
}

// A consumer of one's own in a world: the second order's ack is lost on its way, so the server
// delivers the order again after AckWait, and the customer gets a second mail.
func Example() {
	loseAck := func(_ context.Context, op *sim.Op, apply func() error) error {
		if op.Kind == sim.KindAck && op.Seq == 2 && op.Delivered == 1 {
			op.Fault("lose")
			return nil
		}
		return apply()
	}
	sum, err := sim.Run(sim.Config{Seed: 7, Intercept: loseAck}, func(w *sim.World) error {
		ctx := context.Background()
		_, err := w.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders"}})
		if err != nil {
			return err
		}
		w.Node("mailer", mailer).Start()
		w.Node("shop", func(p *sim.Process) {
			for i := range 3 {
				p.Clock().Sleep(time.Second)
				_, _ = p.JetStream().Publish(p.Context(), "orders", fmt.Appendf(nil, "order-%d", i+1))
			}
		}).Start()
		w.Step(time.Minute, nil)
		for i := range 3 {
			key := fmt.Sprintf("mails:order-%d", i+1)
			fmt.Printf("%s = %s\n", key, w.Redis()[key][""])
		}
		return nil
	})
	fmt.Println(sum.Virtual.Round(time.Second), err)
	// Output:
	// mails:order-1 = 1
	// mails:order-2 = 2
	// mails:order-3 = 1
	// 1m0s <nil>
}
