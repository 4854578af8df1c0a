package output

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
)

// ContentMax is how large an output may be to be scanned, in bytes: what a gRPC server takes unless it is told
// otherwise, 4 MiB, less room for what else the policy is told.
const ContentMax = 4<<20 - 64<<10

var (
	// ErrGone says that a result names an output that does not exist, or not any more.
	ErrGone = errors.New("there is no such output")
	// ErrTooLarge says that an output is larger than ContentMax.
	ErrTooLarge = errors.New("the output is too large to be scanned")
)

// Unscannable says whether the error of a scan is about the output itself, so that no later scan of it ends
// otherwise.
func Unscannable(err error) bool {
	return errors.Is(err, ErrGone) || errors.Is(err, ErrTooLarge) || redis.HasErrorPrefix(err, "WRONGTYPE") || safety.AboutRequest(err)
}

// Client asks the output policy. All fields are required. It is safe for concurrent use.
type Client struct {
	Conn        grpc.ClientConnInterface
	Breaker     func(ctx context.Context, call func(ctx context.Context) error) error // makes the call, unless the circuit is open
	Redis       redis.UniversalClient                                                 // holds the outputs
	ReadTimeout time.Duration                                                         // of one operation: storeOpTimeout of Scheduler internals
	MetaTimeout time.Duration                                                         // of a call about metadata
	ScanTimeout time.Duration                                                         // of a call about content: 30 s in Scheduler internals
}

// CheckOutputMeta asks about a result by its metadata alone. An error is no answer.
func (c *Client) CheckOutputMeta(ctx context.Context, res *job.Result, req *job.Request) (Verdict, error) {
	return c.check(phase.With(ctx, res.JobID, phase.OutputCheck), c.MetaTimeout, ask(res, req))
}

// CheckOutputContent reads the output that a result names, and asks about it. An error is no answer; it is
// Unscannable if there is nothing to ask about.
func (c *Client) CheckOutputContent(ctx context.Context, res *job.Result, req *job.Request) (Verdict, error) {
	content, err := c.read(phase.With(ctx, res.JobID, phase.OutputRead), res.ResultPtr)
	if err != nil {
		return Verdict{}, err
	}
	about := ask(res, req)
	about.WithContent, about.Content = true, content
	return c.check(phase.With(ctx, res.JobID, phase.OutputScan), c.ScanTimeout, about)
}

func (c *Client) read(ctx context.Context, ptr string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.ReadTimeout)
	defer cancel()
	size, err := c.Redis.StrLen(ctx, ptr).Result()
	var content []byte
	switch {
	case err != nil:
	case size > ContentMax:
		err = fmt.Errorf("%w: it has %d bytes, and %d is the most", ErrTooLarge, size, ContentMax)
	default:
		content, err = c.Redis.Get(ctx, ptr).Bytes()
	}
	if errors.Is(err, redis.Nil) {
		err = ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", ptr, err)
	}
	return content, nil
}

// Exists says whether there is an output of that name.
func (c *Client) Exists(ctx context.Context, jobID, ptr string) (bool, error) {
	ctx, cancel := context.WithTimeout(phase.With(ctx, jobID, phase.OutputRead), c.ReadTimeout)
	defer cancel()
	n, err := c.Redis.Exists(ctx, ptr).Result()
	if err != nil {
		return false, fmt.Errorf("output %s: %w", ptr, err)
	}
	return n == 1, nil
}

func ask(res *job.Result, req *job.Request) *safetypb.CheckOutputRequest {
	return &safetypb.CheckOutputRequest{
		JobId: res.JobID, Topic: req.Topic, Tenant: job.TenantOf(req.Tenant), Labels: req.Labels, ResultPtr: res.ResultPtr,
	}
}

// check makes the call. A call that times out, and an answer that is no decision, are failures of the
// service, to the breaker too.
func (c *Client) check(ctx context.Context, timeout time.Duration, about *safetypb.CheckOutputRequest) (v Verdict, err error) {
	tag := phase.From(ctx)
	err = c.Breaker(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(phase.With(ctx, tag.Job, tag.Phase), timeout)
		defer cancel()
		answer, err := safetypb.NewOutputPolicyServiceClient(c.Conn).CheckOutput(ctx, about)
		if err == nil {
			v, err = verdictOf(answer)
		}
		return err
	})
	if err != nil {
		return Verdict{}, fmt.Errorf("output policy: %w", err)
	}
	return v, nil
}
