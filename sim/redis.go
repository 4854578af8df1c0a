package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Redis is the process's gated client. It honours its callers' deadlines (ContextTimeoutEnabled)
// and retries nothing by itself (go-redis's back-off jitter is not seeded); a service under test
// should set both in production too.
func (p *Process) Redis() *redis.Client {
	return p.redis
}

func (w *World) dialRedis(p *Process) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", // never dialled; a host name would be looked up
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			c, err := w.redis.Dial()
			return &wire{Conn: c, p: p}, err
		},
		MaxRetries:               -1,
		Protocol:                 2,
		PoolSize:                 256, // the default depends on GOMAXPROCS
		DisableIdentity:          true,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// redisHook gates every command of one process.
type redisHook struct{ p *Process }

func (h *redisHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// setsUpConnection tells the commands that go-redis sends inside the first command of a
// connection, and those whose effect ends with the connection: they are no operations of the actor.
func setsUpConnection(name string) bool {
	switch name {
	case "hello", "auth", "select", "client", "unwatch":
		return true
	}
	return false
}

func (h *redisHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if setsUpConnection(cmd.Name()) {
			return next(ctx, cmd)
		}
		if unknown[cmd.Name()] {
			err := fmt.Errorf("%w: %s", ErrUnknownCommand, cmd.Name())
			cmd.SetErr(err)
			return err
		}
		w := h.p.node.world
		op := &Op{Kind: KindRedis, Name: strings.ToLower(cmd.Name()), Tags: w.tags(ctx)}
		op.addCommand(cmd.Args())
		called := false
		err := h.p.do(ctx, op, func() error {
			called = true
			err := next(ctx, cmd)
			op.refused = refused(err)
			return err
		})
		if err != nil && (!called || cmd.Err() == nil) {
			cmd.SetErr(err)
		}
		return err
	}
}

func (h *redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) == 0 || setsUpConnection(cmds[0].Name()) {
			return next(ctx, cmds)
		}
		w := h.p.node.world
		op := &Op{Kind: KindRedis, Name: "pipeline", Tags: w.tags(ctx)}
		if cmds[0].Name() == "multi" {
			op.Name = "multi"
		}
		for _, cmd := range cmds {
			if unknown[cmd.Name()] {
				err := fmt.Errorf("%w: %s", ErrUnknownCommand, cmd.Name())
				for _, c := range cmds {
					c.SetErr(err)
				}
				return err
			}
			op.addCommand(cmd.Args())
		}
		var answered error // which the client has set on the commands that it is of
		err := h.p.do(ctx, op, func() error {
			answered = next(ctx, cmds)
			op.refused = op.Name == "multi" && execRefused(answered)
			return answered
		})
		if err != nil && err != answered {
			for _, cmd := range cmds {
				if cmd.Err() == nil {
					cmd.SetErr(err)
				}
			}
		}
		return err
	}
}

// refused says whether the server answered a command with an error or with nil.
func refused(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

// execRefused says whether the server refused an EXEC as a whole. Of one that it carried out a single
// command may have failed.
func execRefused(err error) bool {
	return errors.Is(err, redis.TxFailedErr) || err != nil && strings.HasPrefix(err.Error(), "EXECABORT")
}

// outcome is what a caller saw, in a form that is the same on every machine.
func outcome(err error) string {
	switch {
	case err == nil:
		return OutcomeOK
	case errors.Is(err, redis.Nil):
		return OutcomeNil
	}
	return err.Error()
}
