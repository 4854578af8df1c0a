package sim

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Redis is the process's gated client. It honours its callers' deadlines (ContextTimeoutEnabled), and retries
// nothing by itself, since go-redis's back-off jitter is not seeded. A service under test should set both in
// production, too.
func (p *Process) Redis() *redis.Client { return find[*redisClient](p.clients).redis }

// redisClient gates every command of one process. It is a redis.Hook.
type redisClient struct {
	p       *Process
	server  *redisServer
	redis   *redis.Client
	holding atomic.Pointer[held] // set: the next command that the process writes is held back
	aborts  atomic.Bool          // set: no command of a transaction is queued
	deaf    atomic.Bool          // set: a subscription was refused, and reads fail as if Redis were gone
	look    *look                // to be sent after the present operation, or nil
	sent    atomic.Bool          // something of the present operation has reached Redis
	watched watched              // by its connections
}

func (c *redisClient) close() { _ = c.redis.Close() }

func (c *redisClient) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *redisClient) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if setUp[cmd.Name()] {
			return next(ctx, cmd)
		}
		return c.do(ctx, cmd.Name(), []redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

func (c *redisClient) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) == 0 || setUp[cmds[0].Name()] {
			return next(ctx, cmds)
		}
		name := NameMulti
		if cmds[0].Name() != NameMulti {
			name = namePipeline
		}
		return c.do(ctx, name, cmds, func() error { return next(ctx, cmds) })
	}
}

// NameMulti is the name of a transaction as an operation.
const NameMulti = "multi"

// namePipeline is the name of a pipeline as an operation.
const namePipeline = "pipeline"

// setUp lists commands that are no operations of the actor. go-redis sends them within the first command of a
// connection, or their effect ends with the connection.
var setUp = setOf("hello unwatch")

// do runs commands as one operation.
func (c *redisClient) do(ctx context.Context, name string, cmds []redis.Cmder, send func() error) (err error) {
	made := &struct { // in one allocation: this is the path of most steps
		op   Op
		call redisCall
	}{}
	op, call := &made.op, &made.call
	for i, cmd := range cmds {
		err = cmp.Or(err, c.server.runs(name, cmds, i))
		sortPairs(cmd.Args())
		call.add(cmd.Args())
	}
	if err == nil {
		*op = Op{Kind: KindRedis, Name: name, Target: call.target, Tags: c.p.node.world.cfg.Tags(ctx), Write: call.write, call: call}
		err = c.p.do(ctx, op, func() error {
			call.look = c.server.behind(call)
			c.look = call.look
			c.sent.Store(false)
			call.answer = send()
			c.look = nil
			call.applied, call.refused = c.sent.Load(), refused(name, call.answer)
			call.waited = call.waits && slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Name() == nameWait && cmd.Err() == nil })
			return call.answer
		})
	}
	for _, cmd := range cmds {
		if err != nil && err != call.answer && cmd.Err() == nil { // the client sets its own on those that failed
			cmd.SetErr(err)
		}
	}
	return err
}

// pairsFrom maps the commands for which go-redis takes a map to where their pairs begin.
var pairsFrom = map[string]int{"hset": 2, "hmset": 2, "mset": 1, "msetnx": 1}

// sortPairs orders the fields of a command: go-redis sends those of a map in Go's random order of maps.
func sortPairs(args []any) {
	if len(args) < 5 { // fewer than two pairs
		return
	}
	name, _ := args[0].(string)
	first := pairsFrom[name]
	if first == 0 || (len(args)-first)%2 != 0 {
		return
	}
	sort.Stable(pairs(args[first:]))
}

// pairs are fields and their values in turn, which sort by field.
type pairs []any

func (p pairs) Len() int           { return len(p) / 2 }
func (p pairs) Less(i, j int) bool { return text(p[2*i]) < text(p[2*j]) }
func (p pairs) Swap(i, j int) {
	p[2*i], p[2*j] = p[2*j], p[2*i]
	p[2*i+1], p[2*j+1] = p[2*j+1], p[2*i+1]
}

// refused says whether the server has refused the operation as a whole, and changed nothing. Commands of a
// pipeline fail one by one, and so do those of an EXEC that is carried out.
func refused(name string, err error) bool {
	if errors.Is(err, io.EOF) { // Redis had died
		return true
	}
	switch name {
	case namePipeline:
		return false
	case NameMulti:
		return errors.Is(err, redis.TxFailedErr) || err != nil && strings.HasPrefix(err.Error(), "EXECABORT")
	}
	var answer redis.Error // nil, or an error
	return errors.As(err, &answer)
}
