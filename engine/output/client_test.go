package output_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/output"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
)

// policy is an output policy service that answers as it is told.
type policy struct {
	safetypb.UnimplementedOutputPolicyServiceServer
	answer func(context.Context, *safetypb.CheckOutputRequest) (*safetypb.CheckOutputResponse, error)
	asked  *safetypb.CheckOutputRequest
}

func (p *policy) CheckOutput(ctx context.Context, r *safetypb.CheckOutputRequest) (*safetypb.CheckOutputResponse, error) {
	p.asked = r
	return p.answer(ctx, r)
}

func says(d safetypb.OutputDecision, ptr string) func(context.Context, *safetypb.CheckOutputRequest) (*safetypb.CheckOutputResponse, error) {
	return func(context.Context, *safetypb.CheckOutputRequest) (*safetypb.CheckOutputResponse, error) {
		return &safetypb.CheckOutputResponse{Decision: d, Reason: "because", RedactedPtr: ptr}, nil
	}
}

func newClient(t *testing.T, p *policy) (*output.Client, *miniredis.Miniredis) {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	safetypb.RegisterOutputPolicyServiceServer(server, p)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///policy", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	server2 := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server2.Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	return &output.Client{
		Conn: conn, Redis: client, ReadTimeout: time.Minute, MetaTimeout: time.Minute, ScanTimeout: time.Minute,
		Breaker: func(ctx context.Context, call func(context.Context) error) error { return call(ctx) },
	}, server2
}

var (
	result = &job.Result{JobID: "job-1", ResultPtr: "res:job-1"}
	asked  = &job.Request{JobID: "job-1", Topic: "job.default", Tenant: "tenant-1", Labels: map[string]string{"k": "v"}}
)

func TestTheMetadataIsAskedAbout(t *testing.T) {
	p := &policy{}
	c, server := newClient(t, p)
	require.NoError(t, server.Set("res:job-1", "the output"))
	for decision, want := range map[safetypb.OutputDecision]output.Verdict{
		safetypb.OutputDecision_OUTPUT_ALLOW:      {Decision: output.Allow, Reason: "because"},
		safetypb.OutputDecision_OUTPUT_QUARANTINE: {Decision: output.Quarantine, Reason: "because"},
		safetypb.OutputDecision_OUTPUT_DENY:       {Decision: output.Deny, Reason: "because"},
		safetypb.OutputDecision_OUTPUT_REDACT:     {Decision: output.Redact, Reason: "because", RedactedPtr: "res:job-1:redacted"},
	} {
		p.answer = says(decision, "res:job-1:redacted")
		v, err := c.CheckOutputMeta(t.Context(), result, asked)
		require.NoError(t, err)
		assert.Equal(t, want, v)
	}
	assert.Equal(t, "job-1", p.asked.GetJobId())
	assert.Equal(t, "job.default", p.asked.GetTopic())
	assert.Equal(t, "tenant-1", p.asked.GetTenant())
	assert.Equal(t, "v", p.asked.GetLabels()["k"])
	assert.Equal(t, "res:job-1", p.asked.GetResultPtr())
	assert.False(t, p.asked.GetWithContent())
	assert.Empty(t, p.asked.GetContent())
}

func TestTheScanSeesTheOutput(t *testing.T) {
	p := &policy{answer: says(safetypb.OutputDecision_OUTPUT_ALLOW, "")}
	c, server := newClient(t, p)
	require.NoError(t, server.Set("res:job-1", "the output"))
	v, err := c.CheckOutputContent(t.Context(), result, asked)
	require.NoError(t, err)
	assert.Equal(t, output.Allow, v.Decision)
	assert.True(t, p.asked.GetWithContent())
	assert.Equal(t, "the output", string(p.asked.GetContent()))

	server.Del("res:job-1")
	p.asked = nil
	_, err = c.CheckOutputContent(t.Context(), result, asked)
	require.ErrorIs(t, err, output.ErrGone)
	assert.ErrorContains(t, err, "res:job-1")
	assert.Nil(t, p.asked)
}

// An output that is larger than a gRPC server takes is not even read.
func TestALargeOutputIsNotScanned(t *testing.T) {
	p := &policy{answer: says(safetypb.OutputDecision_OUTPUT_ALLOW, "")}
	c, server := newClient(t, p)
	require.NoError(t, server.Set("res:job-1", strings.Repeat("x", output.ContentMax)))
	_, err := c.CheckOutputContent(t.Context(), result, asked)
	require.NoError(t, err)
	assert.Len(t, p.asked.GetContent(), output.ContentMax, "all of it")
	p.asked = nil
	require.NoError(t, server.Set("res:job-1", strings.Repeat("x", output.ContentMax+1)))
	_, err = c.CheckOutputContent(t.Context(), result, asked)
	require.ErrorIs(t, err, output.ErrTooLarge)
	assert.True(t, output.Unscannable(err))
	assert.ErrorContains(t, err, "it has 4128769 bytes, and 4128768 is the most")
	assert.Nil(t, p.asked)
	assert.False(t, output.Unscannable(context.DeadlineExceeded))
}

// What is no decision is no answer, and a failure to the breaker.
func TestNoAnswerIsAnError(t *testing.T) {
	p := &policy{}
	c, server := newClient(t, p)
	require.NoError(t, server.Set("res:job-1", "the output"))
	var failures []error
	c.Breaker = func(ctx context.Context, call func(context.Context) error) error {
		err := call(ctx)
		failures = append(failures, err)
		return err
	}
	p.answer = says(safetypb.OutputDecision_OUTPUT_DECISION_UNSPECIFIED, "")
	_, err := c.CheckOutputMeta(t.Context(), result, asked)
	require.ErrorIs(t, err, output.ErrUndecided)

	p.answer = func(ctx context.Context, _ *safetypb.CheckOutputRequest) (*safetypb.CheckOutputResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for scan, about := range map[bool]func(context.Context, *job.Result, *job.Request) (output.Verdict, error){false: c.CheckOutputMeta, true: c.CheckOutputContent} {
		p.answer = func(ctx context.Context, _ *safetypb.CheckOutputRequest) (*safetypb.CheckOutputResponse, error) {
			at, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, scan, time.Until(at) > time.Minute, "a scan has a time of its own")
			assert.Less(t, time.Until(at), time.Hour)
			return nil, errors.New("down")
		}
		c.MetaTimeout, c.ScanTimeout = time.Minute, 30*time.Minute
		_, err = about(t.Context(), result, asked)
		require.Error(t, err)
	}
	failures = nil
	p.answer = func(ctx context.Context, _ *safetypb.CheckOutputRequest) (*safetypb.CheckOutputResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c.MetaTimeout, c.ScanTimeout = 10*time.Millisecond, 10*time.Millisecond
	_, err = c.CheckOutputMeta(t.Context(), result, asked)
	assert.Equal(t, codes.DeadlineExceeded, status.Code(errors.Unwrap(err)), err)
	_, err = c.CheckOutputContent(t.Context(), result, asked)
	assert.Equal(t, codes.DeadlineExceeded, status.Code(errors.Unwrap(err)), err)
	assert.Len(t, failures, 2)
	assert.NotContains(t, failures, nil)
}

// The breaker tags its own calls; the call to the policy has the check's tag all the same.
func TestTheCallIsTagged(t *testing.T) {
	c := &output.Client{
		Conn: tagged{t, phase.Tag{Job: "job-1", Phase: "output_check"}}, MetaTimeout: time.Minute,
		Breaker: func(ctx context.Context, call func(context.Context) error) error {
			return call(phase.With(ctx, "job-1", "breaker_read"))
		},
	}
	_, err := c.CheckOutputMeta(t.Context(), result, asked)
	require.ErrorIs(t, err, output.ErrUndecided)
}

type tagged struct {
	t    *testing.T
	want phase.Tag
}

func (c tagged) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	assert.Equal(c.t, c.want, phase.From(ctx))
	return nil
}

func (tagged) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("no streams")
}
