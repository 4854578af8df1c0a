package servers

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// queuedError is a hook of a Redis client. Where the server refuses a command of a MULTI as it is queued, the EXEC
// says no more than that something was refused; with the hook a call fails with what the command was told, such as
// OOM or READONLY.
type queuedError struct{}

func (queuedError) DialHook(next redis.DialHook) redis.DialHook { return next }

func (queuedError) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (queuedError) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if !redis.IsExecAbortError(err) {
			return err
		}
		for _, cmd := range cmds {
			if cause := cmd.Err(); cause != nil && !redis.IsExecAbortError(cause) {
				return cause
			}
		}
		return err
	}
}
